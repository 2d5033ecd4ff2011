"""What a shell tells on its way out: how each command of its last pipeline ended, its directory, its environment.

The command can write there too, and as much as it likes: nothing of it is believed that does not look right.
"""

from __future__ import annotations

import os

from nacre.base.frozen import frozen

MAX_STATE_BYTES = 4 * 1024 * 1024
"""No environment is larger (`execve` takes no more)."""


@frozen(kw_only=True)
class Told:
    """None, or nothing, for what it did not get to."""

    stages: tuple[int, ...] = ()
    directory: str | None = None
    environment: dict[str, str] | None = None
    unset: tuple[str, ...] = ()
    """Names without a value: of variables that it had from elsewhere, and has no more."""


def told(state: int) -> Told:
    """What is in the file that it was given for that."""
    data = os.pread(state, MAX_STATE_BYTES + 1, 0)
    if len(data) > MAX_STATE_BYTES:
        return Told()
    entries = data.decode("utf-8", "surrogateescape").split("\0")
    stages: tuple[int, ...] = ()
    if len(entries) > 1 and entries[0].replace(" ", "").isdigit():  # a directory begins with a slash
        stages = tuple(map(int, entries.pop(0).split()))
    directory, *rest = entries
    if not directory.startswith("/"):
        directory = ""
    if not rest:
        return Told(stages=stages)
    if rest[-2:] != ["", ""]:  # cut short: an empty entry marks the end
        return Told(stages=stages, directory=directory or None)
    pairs = (entry.partition("=") for entry in rest[:-2])
    return Told(
        stages=stages,
        directory=directory or None,
        environment={name: value for name, equals, value in pairs if equals},
        unset=tuple(entry for entry in rest[:-2] if entry and "=" not in entry),
    )
