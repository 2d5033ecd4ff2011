"""Paths that no kernel guards here: remembered before a run, compared after it, put back, and said.

Between the two a change stands: this is a net, not a wall, and is not among what `Result.enforced` names. The command
may have left links anywhere, so every path is walked from the root without following one.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nacre.keeper.scratch import remove_below

_MOST = 8 * 1024 * 1024
"""Bytes that are remembered in all; of what is beyond, only that it has changed can be said."""
_DEEPEST = 32
"""Directories in directories that are looked into."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Node(NamedTuple):
    """A file, a link, or a directory with what is in it."""

    mode: int
    marks: tuple[int, ...]
    """Tell a change: inode, size and time of anything but a directory that could be looked into."""
    content: bytes | None
    """Of a file, or the target of a link; None if it is too large, or neither."""
    below: dict[str, _Node]

    @property
    def whole(self) -> bool:
        """Whether it could be made again."""
        if stat.S_ISDIR(self.mode):
            return not self.marks and all(node.whole for node in self.below.values())
        return self.content is not None

    def same(self, other: _Node | None) -> bool:
        return (
            other is not None
            and (self.mode, self.marks, self.below.keys()) == (other.mode, other.marks, other.below.keys())
            and all(node.same(other.below[name]) for name, node in self.below.items())
        )


class Guard:
    """What is at some paths now."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._room = _MOST
        self._before = {path: self._look(path, remember=True) for path in paths}

    def restore(self) -> list[str]:
        """Undo what has changed since; a sentence each."""
        return [said for path, before in self._before.items() if (said := self._settle(path, before))]

    def _settle(self, path: str, before: _Node | None) -> str:
        planted = _unlink_on_the_way(path)
        if planted and before is None:
            return f"{path} is protected: a link was put at {planted}, and has been removed."
        after = self._look(path, remember=False)
        if (before is None and after is None) or (before is not None and before.same(after)):
            return ""
        deed = "made" if before is None else "removed" if after is None else "changed"
        try:
            with _parent(path) as (parent, name):
                _put_back(name, before, after, parent)
        except OSError as error:
            return f"{path} is protected, was {deed}, and could not be put back: {error.strerror}."
        done = "removed" if before is None else "put back"
        return f"{path} is protected: it was {deed}, and has been {done}."

    def _look(self, path: str, *, remember: bool) -> _Node | None:
        try:
            with _parent(path) as (parent, name):
                return self._node(name, parent, remember=remember)
        except OSError:
            return None

    def _node(self, name: str, parent: int, *, remember: bool, depth: int = 0) -> _Node:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        mode = status.st_mode
        marks = status.st_ino, status.st_size, status.st_mtime_ns
        if stat.S_ISDIR(mode):
            below = self._below(name, parent, remember=remember, depth=depth)
            return _Node(mode, marks, None, {}) if below is None else _Node(mode, (), None, below)
        content = None
        with contextlib.suppress(PermissionError):
            if remember and stat.S_ISLNK(mode):
                content = os.fsencode(os.readlink(name, dir_fd=parent))
            elif remember and stat.S_ISREG(mode) and status.st_size <= self._room:
                with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent), "rb") as file:
                    content = file.read(self._room)
                self._room -= len(content)
        return _Node(mode, marks, content, {})

    def _below(self, name: str, parent: int, *, remember: bool, depth: int) -> dict[str, _Node] | None:
        """What is in a directory; None where it is closed to us, or deeper than anybody needs."""
        if depth == _DEEPEST:
            return None
        try:
            fd = os.open(name, _DIRECTORY, dir_fd=parent)
        except OSError:
            return None
        found: dict[str, _Node] = {}
        try:
            for child in os.listdir(fd):
                with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                    found[child] = self._node(child, fd, remember=remember, depth=depth + 1)
        except OSError:
            return None
        finally:
            os.close(fd)
        return found


@contextlib.contextmanager
def _parent(path: str) -> Iterator[tuple[int, str]]:
    """The directory that holds it, and its name there. OSError: a part of the way is a link now, or gone."""
    *directories, name = path.strip("/").split("/")
    fd = os.open("/", _DIRECTORY)
    try:
        for directory in directories:
            below = os.open(directory, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd, name
    finally:
        os.close(fd)


def _unlink_on_the_way(path: str) -> str:
    """Where a link was that leads to the path now. There was none before: every path that we are given is real."""
    *directories, _ = path.strip("/").split("/")
    fd, walked = os.open("/", _DIRECTORY), ""
    try:
        for directory in directories:
            walked += f"/{directory}"
            if stat.S_ISLNK(os.stat(directory, dir_fd=fd, follow_symlinks=False).st_mode):
                os.unlink(directory, dir_fd=fd)
                return walked
            below = os.open(directory, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
    except OSError:
        pass  # gone, or out of reach
    finally:
        os.close(fd)
    return ""


def _put_back(name: str, before: _Node | None, after: _Node | None, parent: int) -> None:
    """A new one is made beside it first: whoever looks finds one or the other."""
    if before is not None and not before.whole:
        raise OSError(27, "it was too large to be remembered")
    spare = f".nacre-{os.getpid()}-{os.urandom(4).hex()}"
    if before is not None:
        _make(spare, before, parent)
    if after is not None:
        gone = f"{spare}-gone"
        os.rename(name, gone, src_dir_fd=parent, dst_dir_fd=parent)
        remove_below(gone, parent)
    if before is not None:
        os.rename(spare, name, src_dir_fd=parent, dst_dir_fd=parent)


def _make(name: str, node: _Node, parent: int) -> None:
    if stat.S_ISLNK(node.mode):
        os.symlink(os.fsdecode(node.content or b""), name, dir_fd=parent)
    elif stat.S_ISDIR(node.mode):
        os.mkdir(name, 0o700, dir_fd=parent)
        fd = os.open(name, _DIRECTORY, dir_fd=parent)
        try:
            for child, below in node.below.items():
                _make(child, below, fd)
            os.fchmod(fd, stat.S_IMODE(node.mode))
        finally:
            os.close(fd)
    else:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent)
        with open(fd, "wb") as file:
            file.write(node.content or b"")
            file.flush()
            os.fchmod(fd, stat.S_IMODE(node.mode))
