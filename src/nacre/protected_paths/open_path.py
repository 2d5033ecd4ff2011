"""Directories opened from the root on without following a link: a command may have left links anywhere."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from nacre.keeper.protocol.shortages import SHORTAGE_HINTS

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_HELD_OPEN_MAX = 4
"""Directories: a host may be short of descriptors."""


def raise_if_shortage(error: OSError) -> None:
    """Raise errors for want of descriptors or memory: a path that could not be looked at is not absent."""
    if error.errno in SHORTAGE_HINTS:
        raise error


class PathOpener:
    """Looks at many paths that are mostly in the same few directories, which are held open for that. What changes
    meanwhile is not seen: use it for one look."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}
        self._non_directories: dict[str, str] = {}
        """Directories that could not be entered, with what is there instead; empty if nothing is, or it is closed."""

    def __enter__(self) -> PathOpener:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()

    def parent(self, path: str) -> tuple[int, str]:
        """The directory that holds it, and its name there. OSError: a part of the way is a link, or gone."""
        above, _, name = path.rstrip("/").rpartition("/")
        return self._directory(above or "/"), name

    def first_non_directory(self, path: str) -> str:
        """The part of the way to a path that is no directory: a link, which leads anywhere, or a file, by which git can
        be led just as well. Empty if there is none, or if the way ends before."""
        above = path.rstrip("/").rpartition("/")[0] or "/"
        try:
            self._directory(above)
        except OSError as error:
            raise_if_shortage(error)
            return self._non_directories[above]
        return ""

    def _directory(self, path: str) -> int:
        fd = self._open.get(path)
        if fd is not None:
            return fd
        if path in self._non_directories:
            raise NotADirectoryError(20, os.strerror(20), path)
        if len(self._open) == _HELD_OPEN_MAX:
            os.close(self._open.pop(next(iter(self._open))))
        fd = self._open[path] = self._enter(path)
        return fd

    def _enter(self, path: str) -> int:
        fd, walked = os.open("/", DIRECTORY), ""
        try:
            for name in path.strip("/").split("/") if path != "/" else ():
                walked += f"/{name}"
                try:
                    below = os.open(name, DIRECTORY, dir_fd=fd)
                except OSError as error:
                    raise_if_shortage(error)
                    self._non_directories[path] = walked if _is_there(name, fd) else ""
                    raise
                os.close(fd)
                fd = below
        except BaseException:
            os.close(fd)
            raise
        return fd


def _is_there(name: str, parent: int) -> bool:
    """Something that is no directory."""
    try:
        return not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def open_directory(name: str, parent: int) -> Iterator[int]:
    fd = os.open(name, DIRECTORY, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def parent_of(path: str) -> Iterator[tuple[int, str]]:
    """As `PathOpener.parent`, of one path, as it is now."""
    with PathOpener() as walk:
        yield walk.parent(path)


def first_non_directory(path: str) -> str:
    """As `PathOpener.first_non_directory`, as it is now."""
    with PathOpener() as walk:
        return walk.first_non_directory(path)
