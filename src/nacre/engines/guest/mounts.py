"""Paths in, the file systems that are mounted below them out, as this process sees them. Looks, changes nothing.

A read-only mount of a directory covers that directory's own file system: what is mounted further down stays as writable
as it was, and needs a mount of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from nacre.base.mount_table import MountEntry, parse_mount_table, read_mount_table
from nacre.sandbox.workspace import is_below


def mounted_below(paths: Iterable[str], table: bytes | None = None) -> tuple[str, ...]:
    """Where, sorted; not the paths themselves. `table` as in /proc/self/mountinfo, which is read if none is given."""
    tops = tuple(paths)
    if not tops:
        return ()
    points = [os.fsdecode(entry.point) for entry in (_entries() if table is None else parse_mount_table(table))]
    below = {each for each in points if any(each != top and is_below(each, top) for top in tops)}
    return tuple(sorted(each for each in below if _is_there(each)))


def _entries() -> list[MountEntry]:
    try:
        return read_mount_table()
    except FileNotFoundError:  # no Linux: the engine has a machine of its own, and its mounts are none of ours
        return []


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
