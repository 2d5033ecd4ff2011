"""Detects whether the mount on a protected or hidden path was in place during the whole run.

A mount belongs to a file or directory, not to its name. If a process outside renames another file over it, or removes
it, the mount is detached and the command sees the new file without it. If it, or a directory above it, is moved away,
the mount moves along, and returns when it is moved back. The command itself can do neither.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from nacre.protected_paths.birth_time import birth_ns


class Marks(NamedTuple):
    """Values of a file or directory that differ after it was replaced, moved or changed."""

    identity: tuple[int, int, int]
    """Device, inode and creation time: the number of a removed inode may be reused at once."""
    changed_ns: int
    """Time of the last change (ctime)."""
    is_shared: bool
    """True for a file with another name (hard link), by which it can be written."""
    content: tuple[int, int, int, int]
    """mtime, mode, owner and group. Moving a file changes none of these."""


class MountedPaths:
    """The identity of each path before a run, to compare with afterwards."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._before = {path: _file_identity(path) for path in paths}
        self._above = {path: _file_identity(path) for path in _directories_above(self._before)}

    @classmethod
    def from_marks(cls, marks: tuple[dict[str, Marks | None], dict[str, Marks | None]]) -> MountedPaths:
        """Return an object that compares with these marks."""
        mounted = cls(())
        mounted._before, mounted._above = marks
        return mounted

    @property
    def marks(self) -> tuple[dict[str, Marks | None], dict[str, Marks | None]]:
        """Marks of the paths, and of all directories above them."""
        return self._before, self._above

    def find_replaced(self) -> list[str]:
        """Return the paths at which something else is or was, or that may have been written by another name."""
        now = {path: _file_identity(path) for path in (*self._before, *self._above)}
        moved = {path for path in now if self._was_moved(path, now)}
        return [
            path
            for path, before in self._before.items()
            if _has_come_off(before, now[path]) or not moved.isdisjoint((path, *_directories_above([path])))
        ]

    def find_changed(self) -> list[str]:
        """Return the paths that were not replaced but have changed, which only a process outside can have done."""
        replaced = set(self.find_replaced())
        now = {path: _file_identity(path) for path in self._before}
        return [
            path
            for path, before in self._before.items()
            if before is not None
            and (after := now[path]) is not None
            and path not in replaced
            and before.changed_ns != after.changed_ns
        ]

    def _was_moved(self, path: str, now: dict[str, Marks | None]) -> bool:
        """Return whether a path was moved away and back: that changes only its ctime, and the ctime of its
        directory."""
        before, after = self._before.get(path) or self._above.get(path), now[path]
        parent = os.path.dirname(path)
        around, later = self._above.get(parent), now.get(parent)
        if before is None or after is None or around is None or later is None:
            return False
        return (
            before.identity == after.identity
            and before.changed_ns != after.changed_ns
            and before.content == after.content
            and around.changed_ns != later.changed_ns
        )


def _has_come_off(before: Marks | None, after: Marks | None) -> bool:
    if before is None or after is None:
        return before is not after
    return before.identity != after.identity or (after.is_shared and before.changed_ns != after.changed_ns)


def _directories_above(paths: Iterable[str]) -> dict[str, None]:
    """Return all directories above the paths, up to the root directory."""
    found: dict[str, None] = {}
    for path in paths:
        above = os.path.dirname(path)
        while above not in found:
            found[above] = None
            above = os.path.dirname(above)
    return found


def _file_identity(path: str) -> Marks | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    shared = status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode)
    return Marks(
        (status.st_dev, status.st_ino, birth_ns(path)),
        status.st_ctime_ns,
        shared,
        (status.st_mtime_ns, status.st_mode, status.st_uid, status.st_gid),
    )
