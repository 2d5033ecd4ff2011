"""Paths that a mount protects or hides: whether it was still on at the end of the run.

A mount belongs to a file or directory, not to its name. When somebody outside renames another one over it, or removes
it, the mount comes off, and the command has the new one without it. The command itself cannot do that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from nacre.guard.birth_time import birth_ns


class Marks(NamedTuple):
    identity: tuple[int, int, int]
    """Device, inode and time of birth: the number of an inode that was removed may be given to the next one at once."""
    changed_ns: int
    is_shared: bool
    """A file that has another name, by which it can be written."""


class MountedPaths:
    def __init__(self, paths: Iterable[str]) -> None:
        self._before = {path: _marks(path) for path in paths}

    @classmethod
    def of(cls, before: dict[str, Marks | None]) -> MountedPaths:
        """One that compares with these."""
        mounted = cls(())
        mounted._before = before
        return mounted

    @property
    def marks(self) -> dict[str, Marks | None]:
        return self._before

    def replaced(self) -> list[str]:
        """Those at which there is something else now, or that may have been written by another name."""
        return [path for path, before in self._before.items() if _has_come_off(before, _marks(path))]

    def changed(self) -> list[str]:
        """Those that are the same and have changed, which only somebody outside can have done."""
        now = {path: _marks(path) for path in self._before}
        return [
            path
            for path, before in self._before.items()
            if before is not None
            and (after := now[path]) is not None
            and not _has_come_off(before, after)
            and before.changed_ns != after.changed_ns
        ]


def _has_come_off(before: Marks | None, after: Marks | None) -> bool:
    if before is None or after is None:
        return before is not after
    return before.identity != after.identity or (after.is_shared and before.changed_ns != after.changed_ns)


def _marks(path: str) -> Marks | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    shared = status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode)
    return Marks((status.st_dev, status.st_ino, birth_ns(path)), status.st_ctime_ns, shared)
