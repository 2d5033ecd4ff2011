"""Read the state that a shell writes when it exits: pipeline statuses, working directory, environment.

The command can write to the same file, and any amount: malformed data is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nacre.base.frozen import frozen
from nacre.base.system import memory_file
from nacre.result import PipelineStatus
from nacre.types import Plan

MAX_STATE_BYTES = 4 * 1024 * 1024
"""Bytes. `execve` takes no larger environment."""


@frozen(kw_only=True)
class ShellExitState:
    """The final state of a shell. Parts that it did not write are None or empty."""

    pipe_statuses: tuple[int, ...] = ()
    cwd: str | None = None
    environment: dict[str, str] | None = None
    removed_env: tuple[str, ...] = ()
    """Entries without a value: inherited variables that the shell has unset."""


@contextmanager
def open_state_file() -> Iterator[int]:
    """Yield the descriptor of a new state file and close it on exit."""
    state = memory_file(b"")
    try:
        yield state
    finally:
        os.close(state)


class ExitStateFile:
    """The state file of one run: that of its session, or its own.

    A run without a session has one only if the shell can report the exit status of each command of its last pipeline.
    """

    def __init__(self, plan: Plan, of_session: int | None) -> None:
        """`of_session`: descriptor of the session's file, which stays open; None: there is no session."""
        self._commands = plan.pipeline_commands
        self._is_own = of_session is None
        self.fd = of_session
        """None: the shell reports nothing."""
        self.pipestatus: tuple[PipelineStatus, ...] = ()
        """Exit status of each command of the last pipeline; known after `close`, empty if it was not reported."""

    def open(self) -> None:
        """Create the run's own file, if it needs one."""
        if self._is_own and self._commands:
            with suppress(OSError):  # no file descriptor left: run without the report
                self.fd = memory_file(b"")

    def close(self) -> None:
        """Read the report, and close the run's own file."""
        if self.fd is None:
            return
        if self._commands:
            codes = read_exit_state(self.fd).pipe_statuses
            if len(codes) == len(self._commands):
                self.pipestatus = tuple(map(PipelineStatus, self._commands, codes))
        if self._is_own:
            os.close(self.fd)


def read_exit_state(state: int) -> ShellExitState:
    """Parse the state file `state`, an open file descriptor."""
    data = os.pread(state, MAX_STATE_BYTES + 1, 0)
    if len(data) > MAX_STATE_BYTES:
        return ShellExitState()
    entries = data.decode("utf-8", "surrogateescape").split("\0")
    stages: tuple[int, ...] = ()
    if len(entries) > 1 and entries[0].replace(" ", "").isdigit():  # a directory begins with a slash
        stages = tuple(map(int, entries.pop(0).split()))
    directory, *rest = entries
    if not directory.startswith("/"):
        directory = ""
    if not rest:
        return ShellExitState(pipe_statuses=stages)
    if rest[-2:] != ["", ""]:  # truncated: an empty entry marks the end
        return ShellExitState(pipe_statuses=stages, cwd=directory or None)
    pairs = (entry.partition("=") for entry in rest[:-2])
    return ShellExitState(
        pipe_statuses=stages,
        cwd=directory or None,
        environment={name: value for name, equals, value in pairs if equals},
        removed_env=tuple(entry for entry in rest[:-2] if entry and "=" not in entry),
    )
