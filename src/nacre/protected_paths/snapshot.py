"""Paths that the kernel does not protect here: recorded before a run, compared after it, restored and reported.

A change stands until the run ends: this is not enforcement, and not listed in `Result.enforced`. The command may have
left links anywhere, so every path is opened from the root without following links. A changed path is kept under
another name (`quarantine`), because changes by the user and by the command cannot be told apart.
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
from nacre.protected_paths.quarantine import QUARANTINED as QUARANTINED  # re-exported
from nacre.protected_paths.quarantine import quarantine

_MAX_CONTENT_BYTES = 8 * 1024 * 1024
"""Limit on the content that is recorded in all. Beyond it, a change is detected but cannot be undone."""
_MAX_ENTRIES = 5000
"""Limit on the files and directories that are recorded in all; a directory beyond it is not entered."""
_CONTENTS_MAX = 1000
_CONTENT_MAX_BYTES = 8 * 1024
"""Contents are cached from run to run: at most `_CONTENTS_MAX` files, each at most this large."""
_UNSETTLED_NS = 100_000_000
"""Nanoseconds: after a change this recent, another one may leave the file's timestamps the same."""
_contents: dict[tuple[int, ...], bytes] = {}
_MAX_DEPTH = 32
"""Depth of directories that are entered."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Non-blocking: the file may have become a pipe."""


class PathEntry(NamedTuple):
    """A file, a link, or a directory with its entries."""

    mode: int
    marks: tuple[int, ...]
    """Values that differ after a change: inode, size and times. For a file with recorded content, its inode and link
    count. For a directory that was entered, empty."""
    content: bytes | None
    """Content of a file, or target of a link; None if it is too large, or neither."""
    below: dict[str, PathEntry]
    """Entries of a directory, by name."""

    @property
    def whole(self) -> bool:
        """True if it can be created again from this entry."""
        if stat.S_ISDIR(self.mode):
            return not self.marks and all(node.whole for node in self.below.values())
        return self.content is not None


class RootSnapshot:
    """State of a path before the first run that may change it."""

    __slots__ = ("__weakref__", "node", "obstacle")

    def __init__(self, node: PathEntry | None, obstacle: str) -> None:
        self.node = node
        self.obstacle = obstacle
        """The non-directory in its path; empty if there is none. See `PathOpener.first_non_directory`."""


class PathSnapshot:
    """The state of some paths, to compare with later."""

    def __init__(
        self, paths: Iterable[str], roots: Iterable[str], shared: MutableMapping[str, RootSnapshot] | None = None
    ) -> None:
        """Record the state of `paths`. Below `roots`, where the command may write, `restore` also removes obstacles in
        the path. `shared` holds the snapshots of runs that have not ended: they are used for this run, and new ones are
        added.

        Raises OSError if there is no file descriptor to read with. A path that could not be read must not count as
        missing: after the run it would be removed as new.
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
        """Return a snapshot that compares with these states."""
        snapshot = cls((), roots)
        snapshot._before = before
        return snapshot

    @property
    def snapshots(self) -> dict[str, RootSnapshot]:
        """State of each path."""
        return self._before

    def restore(self, stays: Callable[[str], bool] = lambda _: False) -> list[str]:
        """Undo all changes and return a sentence for each. `stays(path)` returns whether a change to a path is
        allowed."""
        with PathOpener() as walk:
            changed = [path for path in self._before if self._has_changed(path, walk) and not stays(path)]
        return [said for path in changed if (said := self.restore_one(path))]

    def file(self, path: str) -> tuple[int, bytes] | None:
        """Return mode and content of a file; None if they were not recorded."""
        snapshot = self._before.get(path)
        if snapshot is None or snapshot.node is None or snapshot.node.content is None:
            return None
        return snapshot.node.mode, snapshot.node.content

    def restore_one(self, path: str) -> str:
        """Undo the changes at one path. Return a sentence; empty if there were none."""
        snapshot = self._before.get(path)
        return "" if snapshot is None else self._restore_entry(path, snapshot)

    def _has_changed(self, path: str, walk: PathOpener) -> bool:
        """Return whether a path has changed. Cheap, and done for all paths before any is restored."""
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
        """Remove a link or file that took the place of a directory in the path. Return the rest of a sentence; empty if
        there was none."""
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
        """Read the entries of a directory; None if it cannot be read, or has more or deeper entries than the limits."""
        if depth == _MAX_DEPTH:
            return None
        try:
            with open_directory(name, parent) as fd:
                names = _names(fd, self._entries)
                if names is None:
                    return None
                found: dict[str, PathEntry] = {}
                for child in names:
                    with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                        found[child] = self._make_entry(child, fd, depth + 1)
                return found
        except OSError as error:
            raise_if_shortage(error)
            return None


def _marks(status: os.stat_result) -> tuple[int, ...]:
    """Return inode, size, mtime and ctime. The ctime cannot be set back."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _remembered_content(name: str, parent: int, status: os.stat_result, most: int) -> bytes | None:
    """Return `_content`, from the cache if the file has not changed."""
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
    """Return the content of a file or target of a link; None if it is larger than `most`, not readable, or neither."""
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
    """Return `made`, `changed` or `removed`; empty if there was no change."""
    try:
        if before is None:
            os.stat(name, dir_fd=parent, follow_symlinks=False)
            return "made"
        return "" if _is_unchanged(before, name, parent) else "changed"
    except OSError:
        return "" if before is None else "removed"


def _is_unchanged(node: PathEntry, name: str, parent: int) -> bool:
    """Compare with a recorded entry, without reading more than was there. Raises OSError if it was removed."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if status.st_mode != node.mode:
        return False
    if node.content is not None:
        # a replaced file with the same content is fine, unless it can be written by another name
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
    """Return the names in an open directory; None if there are more than `most`."""
    found: list[str] = []
    with os.scandir(fd) as entries:
        for entry in entries:
            if len(found) >= most:
                return None
            found.append(entry.name)
    return found


def _restore(name: str, before: PathEntry | None, parent: int) -> tuple[PathEntry | None, str]:
    """Restore an entry. The new one is created under a temporary name first: readers see the old one or the new one.
    Return the new entry, and a sentence about the replaced one, if any."""
    if before is not None and not before.whole:
        raise OSError(27, "it was too large for the snapshot")
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
    """Create an entry again. Return it with its new inodes."""
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
