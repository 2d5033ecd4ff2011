"""Paths that no kernel guards here: remembered before a run, compared after it, put back, and said.

Between the two a change stands: this is a net, not a wall, and is not among what `Result.enforced` names. The command
may have left links anywhere, so every path is walked from the root without following one. What takes the place of a
protected path is kept under another name (`quarantine`): nobody can tell what the user did from what the command did.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, MutableMapping
from typing import NamedTuple

from nacre.protected_paths.open_path import (
    DIRECTORY,
    PathOpener,
    first_non_directory,
    open_directory,
    parent_of,
    raise_if_shortage,
)
from nacre.protected_paths.quarantine import QUARANTINED as QUARANTINED  # for who takes it from here
from nacre.protected_paths.quarantine import quarantine

_MAX_CONTENT_BYTES = 8 * 1024 * 1024
"""Bytes that are remembered in all; of what is beyond, only that it has changed can be said."""
_MAX_ENTRIES = 5000
"""Files and directories that are remembered in all; a directory beyond is not looked into."""
_CONTENTS_MAX = 1000
_CONTENT_MAX_BYTES = 8 * 1024
"""Files whose content is remembered from run to run: as many, and no larger."""
_UNSETTLED_NS = 100_000_000
"""Nanoseconds: a file that has changed so recently may change again without its times telling."""
_contents: dict[tuple[int, ...], bytes] = {}
_MAX_DEPTH = 32
"""Directories in directories that are looked into."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not waiting: by now it may be a pipe."""


class PathEntry(NamedTuple):
    """A file, a link, or a directory with what is in it."""

    mode: int
    marks: tuple[int, ...]
    """Tell a change: inode, size and times; of a file whose content is held its inode and its number of names, of a
    directory that was looked into nothing."""
    content: bytes | None
    """Of a file, or the target of a link; None if it is too large, or neither."""
    below: dict[str, PathEntry]

    @property
    def whole(self) -> bool:
        """Whether it could be made again."""
        if stat.S_ISDIR(self.mode):
            return not self.marks and all(node.whole for node in self.below.values())
        return self.content is not None


class RootSnapshot:
    """The content of a path before any run that may change it began."""

    __slots__ = ("__weakref__", "node", "obstacle")

    def __init__(self, node: PathEntry | None, obstacle: str) -> None:
        self.node = node
        self.obstacle = obstacle
        """The obstacle on the way to it."""


class PathSnapshot:
    """What is at some paths now."""

    def __init__(
        self, paths: Iterable[str], roots: Iterable[str], shared: MutableMapping[str, RootSnapshot] | None = None
    ) -> None:
        """`roots` is where the command may write: what stands in the way of a path is removed below them only.
        `shared`: snapshots of runs that have not ended, which are taken for this one, too, and given to later ones.

        OSError: there was no descriptor to look with. What is not seen for that is not absent: after the run it would
        be removed as something new.
        """
        self._roots = tuple(root.rstrip("/") + "/" for root in roots)
        self._content_bytes_left, self._entries = _MAX_CONTENT_BYTES, _MAX_ENTRIES
        known = {} if shared is None else shared
        with PathOpener() as walk:
            self._before = {
                path: known.get(path) or RootSnapshot(self._read_entry(path, walk), walk.first_non_directory(path))
                for path in paths
            }
        known.update(self._before)

    @classmethod
    def from_roots(cls, before: dict[str, RootSnapshot], roots: Iterable[str]) -> PathSnapshot:
        """One that compares with these."""
        snapshot = cls((), roots)
        snapshot._before = before
        return snapshot

    @property
    def snapshots(self) -> dict[str, RootSnapshot]:
        return self._before

    def restore(self, stays: Callable[[str], bool] = lambda _: False) -> list[str]:
        """Undo what has changed since; a sentence each. `stays`: whether a change to this path may."""
        with PathOpener() as walk:
            changed = [path for path in self._before if self._has_changed(path, walk) and not stays(path)]
        return [said for path in changed if (said := self.restore_one(path))]

    def file(self, path: str) -> tuple[int, bytes] | None:
        """The mode and the content of a file; None if they are not known."""
        snapshot = self._before.get(path)
        if snapshot is None or snapshot.node is None or snapshot.node.content is None:
            return None
        return snapshot.node.mode, snapshot.node.content

    def restore_one(self, path: str) -> str:
        """Undo what has changed there; a sentence, or nothing."""
        snapshot = self._before.get(path)
        return "" if snapshot is None else self._restore_entry(path, snapshot)

    def _has_changed(self, path: str, walk: PathOpener) -> bool:
        """The cheap look at all of them, before any is touched."""
        try:
            if walk.first_non_directory(path) != self._before[path].obstacle:
                return True
            return bool(_describe_change(self._before[path].node, *walk.parent(path)))
        except OSError:
            return self._before[path].node is not None

    def _restore_entry(self, path: str, snapshot: RootSnapshot) -> str:
        before = snapshot.node
        planted = self._remove_obstacle(path)
        if planted and before is None:
            return f"{path} is protected: {planted}"
        deed = _describe_change_at(path, before)
        if not deed:
            return ""
        try:
            with parent_of(path) as (parent, name):
                snapshot.node, kept = _restore(name, before, parent)
        except OSError as error:
            cleared = f" Also, {planted}" if planted else ""
            return f"{path} is protected, was {deed}, and could not be put back: {error.strerror}.{cleared}"
        done = "removed" if before is None else "put back"
        return f"{path} is protected: it was {deed}, and has been {done}.{kept and ' '}{kept}"

    def _remove_obstacle(self, path: str) -> str:
        """Remove what was put where a directory that leads to the path was, or was not. Returns the rest of a sentence;
        empty if there was nothing."""
        try:
            obstacle = first_non_directory(path)
            if not obstacle or obstacle == self._before[path].obstacle or not obstacle.startswith(self._roots):
                return ""
            with parent_of(obstacle) as (parent, name):
                mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
                kept = quarantine(name, name, parent)
        except OSError:
            return ""
        return f"a {'link' if stat.S_ISLNK(mode) else 'file'} was put at {obstacle}, and has been removed. {kept}"

    def _read_entry(self, path: str, walk: PathOpener) -> PathEntry | None:
        try:
            parent, name = walk.parent(path)
            return self._make_entry(name, parent)
        except OSError as error:
            raise_if_shortage(error)
            return None

    def _make_entry(self, name: str, parent: int, depth: int = 0) -> PathEntry:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        mode = status.st_mode
        self._entries -= 1
        if stat.S_ISDIR(mode):
            below = self._read_children(name, parent, depth)
            return PathEntry(mode, _marks(status), None, {}) if below is None else PathEntry(mode, (), None, below)
        content = _remembered_content(name, parent, status, self._content_bytes_left)
        if content is None:
            return PathEntry(mode, _marks(status), None, {})
        self._content_bytes_left -= len(content)
        return PathEntry(mode, (status.st_ino, status.st_nlink), content, {})

    def _read_children(self, name: str, parent: int, depth: int) -> dict[str, PathEntry] | None:
        """What is in a directory; None where it is closed to us, or more or deeper than anybody needs."""
        if depth == _MAX_DEPTH:
            return None
        try:
            with open_directory(name, parent) as fd:
                names = _names(fd, self._entries)
                if names is None:
                    return None
                found: dict[str, PathEntry] = {}
                for child in names:
                    with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                        found[child] = self._make_entry(child, fd, depth + 1)
                return found
        except OSError as error:
            raise_if_shortage(error)
            return None


def _marks(status: os.stat_result) -> tuple[int, ...]:
    """The last one cannot be set back."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _remembered_content(name: str, parent: int, status: os.stat_result, most: int) -> bytes | None:
    """As `_content`, without reading a file again that has not changed."""
    marks = (status.st_dev, *_marks(status))
    content = _contents.get(marks)
    if content is None:
        content = _content(name, parent, status, most)
        if content is not None and status.st_ctime_ns < time.time_ns() - _UNSETTLED_NS:
            if len(_contents) >= _CONTENTS_MAX:
                _contents.clear()
            if len(content) <= _CONTENT_MAX_BYTES:
                _contents[marks] = content
    return content if content is None or len(content) <= most else None


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
        raise_if_shortage(error)
        return None
    return None if content is None or len(content) > most else content


def _describe_change_at(path: str, before: PathEntry | None) -> str:
    try:
        with parent_of(path) as (parent, name):
            return _describe_change(before, parent, name)
    except OSError:
        return "" if before is None else "removed"


def _describe_change(before: PathEntry | None, parent: int, name: str) -> str:
    """What has been done to it; empty for nothing."""
    try:
        if before is None:
            os.stat(name, dir_fd=parent, follow_symlinks=False)
            return "made"
        return "" if _is_unchanged(before, name, parent) else "changed"
    except OSError:
        return "" if before is None else "removed"


def _is_unchanged(node: PathEntry, name: str, parent: int) -> bool:
    """Looks at no more than was there before. OSError: it is gone."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if status.st_mode != node.mode:
        return False
    if node.content is not None:
        # another file with the same content is as good, unless it can be written by another name
        same_names = status.st_nlink == 1 or node.marks == (status.st_ino, status.st_nlink)
        return same_names and _content(name, parent, status, len(node.content)) == node.content
    if node.marks:
        return node.marks == _marks(status)
    try:
        with open_directory(name, parent) as fd:
            names = _names(fd, len(node.below))
            return (
                names is not None
                and node.below.keys() == set(names)
                and all(_is_unchanged(below, child, fd) for child, below in node.below.items())
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


def _restore(name: str, before: PathEntry | None, parent: int) -> tuple[PathEntry | None, str]:
    """A new one is made beside it first: whoever looks finds one or the other. Returns what is there now, and a
    sentence about the other one, if there was any."""
    if before is not None and not before.whole:
        raise OSError(27, "it was too large to be remembered")
    spare = f".nacre-{os.getpid()}-{os.urandom(4).hex()}"
    made = None if before is None else _make(spare, before, parent)
    gone = f"{spare}-gone"
    try:
        os.rename(name, gone, src_dir_fd=parent, dst_dir_fd=parent)
    except FileNotFoundError:
        gone = ""
    if before is not None:
        os.rename(spare, name, src_dir_fd=parent, dst_dir_fd=parent)
    return made, quarantine(gone, name, parent) if gone else ""


def _make(name: str, node: PathEntry, parent: int) -> PathEntry:
    """The same again, with the inodes that it has now."""
    below_now: dict[str, PathEntry] = {}
    if stat.S_ISLNK(node.mode):
        os.symlink(os.fsdecode(node.content or b""), name, dir_fd=parent)
    elif stat.S_ISDIR(node.mode):
        os.mkdir(name, 0o700, dir_fd=parent)
        fd = os.open(name, DIRECTORY, dir_fd=parent)
        try:
            for child, below in node.below.items():
                below_now[child] = _make(child, below, fd)
            os.fchmod(fd, stat.S_IMODE(node.mode))
        finally:
            os.close(fd)
    else:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent)
        with open(fd, "wb") as file:
            file.write(node.content or b"")
            file.flush()
            os.fchmod(fd, stat.S_IMODE(node.mode))
    if stat.S_ISDIR(node.mode):
        return node._replace(below=below_now)
    return node._replace(marks=(os.stat(name, dir_fd=parent, follow_symlinks=False).st_ino, 1))
