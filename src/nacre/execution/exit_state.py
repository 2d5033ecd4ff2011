"""Read the state that a shell writes when it exits: pipeline statuses, working directory, environment.

The command can write to the same file, and any amount: malformed data is ignored.
"""

from __future__ import annotations

import os

from nacre.base.frozen import frozen

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
