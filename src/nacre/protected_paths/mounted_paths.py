"""Paths that a mount protects or hides: whether it was on during the whole run.

A mount belongs to a file or directory, not to its name. When somebody outside renames another one over it, or removes
it, the mount comes off, and the command has the new one without it. When somebody moves it away, or a directory on the
way to it, the mount goes with it, and comes back with it. The command itself can do neither.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from nacre.protected_paths.birth_time import birth_ns


class Marks(NamedTuple):
    identity: tuple[int, int, int]
    """Device, inode and time of birth: the number of an inode that was removed may be given to the next one at once."""
    changed_ns: int
    is_shared: bool
    """A file that has another name, by which it can be written."""
    content: tuple[int, int, int, int]
    """Time of the last change of its content, mode and owners. Moving it changes none of these."""


class MountedPaths:
    def __init__(self, paths: Iterable[str]) -> None:
        self._before = {path: _file_identity(path) for path in paths}
        self._above = {path: _file_identity(path) for path in _directories_above(self._before)}

    @classmethod
    def from_marks(cls, marks: tuple[dict[str, Marks | None], dict[str, Marks | None]]) -> MountedPaths:
        """One that compares with these."""
        mounted = cls(())
        mounted._before, mounted._above = marks
        return mounted

    @property
    def marks(self) -> tuple[dict[str, Marks | None], dict[str, Marks | None]]:
        """Marks of the paths, and of the directories above them."""
        return self._before, self._above

    def find_replaced(self) -> list[str]:
        """Paths at which there is or was something else, or that may have been written by another name."""
        now = {path: _file_identity(path) for path in (*self._before, *self._above)}
        moved = {path for path in now if self._was_moved(path, now)}
        return [
            path
            for path, before in self._before.items()
            if _has_come_off(before, now[path]) or not moved.isdisjoint((path, *_directories_above([path])))
        ]

    def find_changed(self) -> list[str]:
        """Paths that are the same and have changed, which only somebody outside can have done."""
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
        """Whether it was away and is back: moving it changes nothing but the time of its last change, and that of the
        directory that it is in."""
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
    """All of them, up to the root directory."""
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
