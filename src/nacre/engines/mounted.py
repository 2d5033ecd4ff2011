"""Paths in, the file systems that are mounted below them out, as this process sees them. Looks, changes nothing.

A read-only mount of a directory covers that directory's own file system: what is mounted further down stays as writable
as it was, and needs a mount of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from nacre.sandbox.workspace import is_below

_TABLE = "/proc/self/mountinfo"
_ESCAPED = re.compile(rb"\\([0-7]{3})")
"""A space, a line break or a backslash in a path."""


def mounted_below(paths: Iterable[str], table: bytes | None = None) -> tuple[str, ...]:
    """Where, sorted; not the paths themselves. `table` as in /proc/self/mountinfo, which is read if none is given."""
    tops = tuple(paths)
    if not tops:
        return ()
    points = _points(_read() if table is None else table)
    below = {each for each in points if any(each != top and is_below(each, top) for top in tops)}
    return tuple(sorted(each for each in below if _is_there(each)))


def _points(table: bytes) -> list[str]:
    rows = (line.split(b" ") for line in table.splitlines())
    return [os.fsdecode(_ESCAPED.sub(_unescaped, row[4])) for row in rows if len(row) > 4]


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 8) & 0xFF])


def _read() -> bytes:
    try:
        with open(_TABLE, "rb") as file:
            return file.read()
    except FileNotFoundError:  # no Linux: the engine has a machine of its own, and its mounts are none of ours
        return b""


def _is_there(path: str) -> bool:
    """Something else may be mounted above it. Only what is surely not there is left out: what may not be looked at has
    to be covered all the same."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
