"""What a shell tells on its way out: how each command of its last pipeline ended, its directory, its environment.

The command can write there too, and as much as it likes: nothing of it is believed that does not look right.
"""

from __future__ import annotations

import os

from nacre.base.frozen import frozen

MAX_STATE_BYTES = 4 * 1024 * 1024
"""No environment is larger (`execve` takes no more)."""


@frozen(kw_only=True)
class ShellExitState:
    """None, or nothing, for what it did not get to."""

    pipe_statuses: tuple[int, ...] = ()
    cwd: str | None = None
    environment: dict[str, str] | None = None
    removed_env: tuple[str, ...] = ()
    """Names without a value: of variables that it had from elsewhere, and has no more."""


def read_exit_state(state: int) -> ShellExitState:
    """What is in the file that it was given for that."""
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
    if rest[-2:] != ["", ""]:  # cut short: an empty entry marks the end
        return ShellExitState(pipe_statuses=stages, cwd=directory or None)
    pairs = (entry.partition("=") for entry in rest[:-2])
    return ShellExitState(
        pipe_statuses=stages,
        cwd=directory or None,
        environment={name: value for name, equals, value in pairs if equals},
        removed_env=tuple(entry for entry in rest[:-2] if entry and "=" not in entry),
    )
