"""Opens directories from the root down without following links: a command may have left links anywhere."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from nacre.base.shortages import SHORTAGE_HINTS

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_HELD_OPEN_MAX = 4
"""Maximum number of open directories: the host may be short of file descriptors."""


def raise_if_shortage(error: OSError) -> None:
    """Raise an error caused by a shortage of descriptors or memory: a path that could not be read does not count as
    missing."""
    if error.errno in SHORTAGE_HINTS:
        raise error


class PathOpener:
    """Opens many paths that are mostly in the same few directories, which it keeps open. It does not notice changes
    made meanwhile: use it for one pass."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}
        self._non_directories: dict[str, str] = {}
        """Directories that could not be opened, each with the non-directory in its path; empty if there is none, or it
        cannot be accessed."""

    def __enter__(self) -> PathOpener:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()

    def parent(self, path: str) -> tuple[int, str]:
        """Return a descriptor of the path's directory, and its name there. Raises OSError if a part of the path is a
        link, or missing."""
        above, _, name = path.rstrip("/").rpartition("/")
        return self._directory(above or "/"), name

    def first_non_directory(self, path: str) -> str:
        """Return the first part of a path that is not a directory: a link, which may lead anywhere, or a file, which
        may redirect git as well. Empty if there is none, or if a part is missing."""
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
    """Return whether this entry exists and is not a directory."""
    try:
        return not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def open_directory(name: str, parent: int) -> Iterator[int]:
    """Open a directory in an open one, without following a link."""
    fd = os.open(name, DIRECTORY, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def parent_of(path: str) -> Iterator[tuple[int, str]]:
    """Yield `PathOpener.parent` for one path, as it is now."""
    with PathOpener() as walk:
        yield walk.parent(path)


def first_non_directory(path: str) -> str:
    """Return `PathOpener.first_non_directory` for one path, as it is now."""
    with PathOpener() as walk:
        return walk.first_non_directory(path)
