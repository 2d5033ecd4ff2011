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

from nacre.blocking import beside
from nacre.keeper.lacks import LACKS
from nacre.keeper.scratch import remove_below
from nacre.types import Plan

_MOST = 8 * 1024 * 1024
"""Bytes that are remembered in all; of what is beyond, only that it has changed can be said."""
_ENTRIES = 5000
"""Files and directories that are remembered in all; a directory beyond is not looked into."""
_DEEPEST = 32
"""Directories in directories that are looked into."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not waiting: by now it may be a pipe."""


class _Node(NamedTuple):
    """A file, a link, or a directory with what is in it."""

    mode: int
    marks: tuple[int, ...]
    """Tell a change: inode, size and times; of a file whose content is held its inode, of a directory that was looked
    into nothing."""
    content: bytes | None
    """Of a file, or the target of a link; None if it is too large, or neither."""
    below: dict[str, _Node]

    @property
    def whole(self) -> bool:
        """Whether it could be made again."""
        if stat.S_ISDIR(self.mode):
            return not self.marks and all(node.whole for node in self.below.values())
        return self.content is not None


class Guard:
    """What is at some paths now."""

    def __init__(self, paths: Iterable[str], roots: Iterable[str]) -> None:
        """`roots` is where the command may write: what stands in the way of a path is removed below them only.

        OSError: there was no descriptor to look with. What is not seen for that is not absent: after the run it would
        be removed as something new.
        """
        self._roots = tuple(root.rstrip("/") + "/" for root in roots)
        self._room, self._entries = _MOST, _ENTRIES
        self._before = {path: self._look(path) for path in paths}
        self._obstacles = {path: _obstacle(path) for path in self._before}

    def restore(self) -> list[str]:
        """Undo what has changed since; a sentence each."""
        return [said for path, before in self._before.items() if (said := self._settle(path, before))]

    def _settle(self, path: str, before: _Node | None) -> str:
        planted = self._clear_the_way(path)
        if planted and before is None:
            return f"{path} is protected: {planted}, and has been removed."
        deed = _deed(path, before)
        if not deed:
            return ""
        try:
            with _parent(path) as (parent, name):
                _put_back(name, before, parent)
        except OSError as error:
            cleared = f" ({planted}, and has been removed)" if planted else ""
            return f"{path} is protected, was {deed}, and could not be put back: {error.strerror}{cleared}."
        done = "removed" if before is None else "put back"
        return f"{path} is protected: it was {deed}, and has been {done}."

    def _clear_the_way(self, path: str) -> str:
        """What was put where a directory that leads to the path was, or was not, and has been removed now."""
        try:
            obstacle = _obstacle(path)
            if not obstacle or obstacle == self._obstacles[path] or not obstacle.startswith(self._roots):
                return ""
            with _parent(obstacle) as (parent, name):
                mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
                os.unlink(name, dir_fd=parent)
        except OSError:
            return ""
        return f"a {'link' if stat.S_ISLNK(mode) else 'file'} was put at {obstacle}"

    def _look(self, path: str) -> _Node | None:
        try:
            with _parent(path) as (parent, name):
                return self._node(name, parent)
        except OSError as error:
            _mind(error)
            return None

    def _node(self, name: str, parent: int, depth: int = 0) -> _Node:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        mode = status.st_mode
        self._entries -= 1
        if stat.S_ISDIR(mode):
            below = self._below(name, parent, depth)
            return _Node(mode, _marks(status), None, {}) if below is None else _Node(mode, (), None, below)
        content = _content(name, parent, status, self._room)
        if content is None:
            return _Node(mode, _marks(status), None, {})
        self._room -= len(content)
        return _Node(mode, (status.st_ino,), content, {})

    def _below(self, name: str, parent: int, depth: int) -> dict[str, _Node] | None:
        """What is in a directory; None where it is closed to us, or more or deeper than anybody needs."""
        if depth == _DEEPEST:
            return None
        try:
            with _opened(name, parent) as fd:
                names = _names(fd, self._entries)
                if names is None:
                    return None
                found: dict[str, _Node] = {}
                for child in names:
                    with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                        found[child] = self._node(child, fd, depth + 1)
                return found
        except OSError as error:
            _mind(error)
            return None


def _mind(error: OSError) -> None:
    if error.errno in LACKS:
        raise error


async def remember(plan: Plan) -> Guard | None:
    """Beside the event loop, if there is anything to remember. OSError: there is no descriptor to look with."""
    return await beside(Guard, plan.watched, plan.roots) if plan.watched else None


async def restored(guard: Guard) -> list[str]:
    """Beside the event loop; once begun it is done to the end, even if nobody waits any more."""
    return await beside(guard.restore)


def _marks(status: os.stat_result) -> tuple[int, ...]:
    """The last one cannot be set back."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _content(name: str, parent: int, status: os.stat_result, most: int) -> bytes | None:
    """None: it is more, closed to us, or no file."""
    try:
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(name, dir_fd=parent))
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        with open(os.open(name, _FILE, dir_fd=parent), "rb") as file:
            content = file.read(most + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except FileNotFoundError:
        raise
    except OSError as error:
        _mind(error)
        return None
    return None if content is None or len(content) > most else content


def _deed(path: str, before: _Node | None) -> str:
    """What has been done to it; empty for nothing."""
    try:
        with _parent(path) as (parent, name):
            if before is None:
                os.stat(name, dir_fd=parent, follow_symlinks=False)
                return "made"
            return "" if _is_still(before, name, parent) else "changed"
    except OSError:
        return "" if before is None else "removed"


def _is_still(node: _Node, name: str, parent: int) -> bool:
    """Looks at no more than was there before. OSError: it is gone."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if status.st_mode != node.mode:
        return False
    if node.content is not None:
        most = len(node.content)
        return node.marks == (status.st_ino,) and _content(name, parent, status, most) == node.content
    if node.marks:
        return node.marks == _marks(status)
    try:
        with _opened(name, parent) as fd:
            names = _names(fd, len(node.below))
            return (
                names is not None
                and node.below.keys() == set(names)
                and all(_is_still(below, child, fd) for child, below in node.below.items())
            )
    except OSError:
        return False


def _names(fd: int, most: int) -> list[str] | None:
    """What is in an open directory; None if it is more."""
    found: list[str] = []
    with os.scandir(fd) as entries:
        for entry in entries:
            if len(found) >= most:
                return None
            found.append(entry.name)
    return found


@contextlib.contextmanager
def _opened(name: str, parent: int) -> Iterator[int]:
    fd = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


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


def _obstacle(path: str) -> str:
    """Where on the way to a path something is no directory: a link, which leads anywhere, or a file, by which git can
    be led just as well."""
    *directories, _ = path.strip("/").split("/")
    fd, walked = os.open("/", _DIRECTORY), ""
    try:
        for directory in directories:
            walked += f"/{directory}"
            if not stat.S_ISDIR(os.stat(directory, dir_fd=fd, follow_symlinks=False).st_mode):
                return walked
            below = os.open(directory, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
    except OSError as error:
        _mind(error)  # else it is gone, or out of reach
    finally:
        os.close(fd)
    return ""


def _put_back(name: str, before: _Node | None, parent: int) -> None:
    """A new one is made beside it first: whoever looks finds one or the other."""
    if before is not None and not before.whole:
        raise OSError(27, "it was too large to be remembered")
    spare = f".nacre-{os.getpid()}-{os.urandom(4).hex()}"
    if before is not None:
        _make(spare, before, parent)
    gone = f"{spare}-gone"
    try:
        os.rename(name, gone, src_dir_fd=parent, dst_dir_fd=parent)
    except FileNotFoundError:
        gone = ""
    if before is not None:
        os.rename(spare, name, src_dir_fd=parent, dst_dir_fd=parent)
    if gone:
        remove_below(gone, parent)


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
