"""Mount points below given paths, as this process sees them. Reads only.

A read-only mount of a directory covers that directory's own file system. File systems mounted below it stay as writable
as they were, and need mounts of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from nacre.base.mount_table import MountEntry, parse_mount_table, read_mount_table
from nacre.sandbox.workspace import is_below


def mounted_below(paths: Iterable[str], table: bytes | None = None) -> tuple[str, ...]:
    """Return the mount points below `paths`, sorted, without `paths` themselves. `table` is the content of
    /proc/self/mountinfo, which is read if it is None."""
    tops = tuple(paths)
    if not tops:
        return ()
    points = [os.fsdecode(entry.point) for entry in (_entries() if table is None else parse_mount_table(table))]
    below = {each for each in points if any(each != top and is_below(each, top) for top in tops)}
    return tuple(sorted(each for each in below if _is_there(each)))


def _entries() -> list[MountEntry]:
    try:
        return read_mount_table()
    except FileNotFoundError:  # not Linux: the engine runs in a VM, with other mounts
        return []


def _is_there(path: str) -> bool:
    """Return whether the path may exist; another file system may be mounted over it. True if that cannot be determined:
    a path that cannot be examined must be covered, too."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
