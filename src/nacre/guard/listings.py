"""Cache the listings of directories until they change: looking again costs one `lstat` each."""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

_UNSETTLED_NS = 100_000_000
"""Nanoseconds: a directory that has changed so recently may change again without its times telling."""
_REMEMBERED_MAX = 10_000
_ENTRIES_MAX, _GIT_ENTRIES_MAX = 5000, 50_000
"""Entries of one directory that are read, in a workspace and in a git directory."""


_TELLING = (".git", "HEAD", "commondir", "objects", "refs")
"""Names by which git knows a repository."""


class Listing(NamedTuple):
    inode: int
    changed_ns: int
    """Its ctime, which nobody can set back."""
    directories: tuple[str, ...]
    """Their paths, in it; links are none."""
    links: dict[str, str]
    """Paths of symbolic links, and where each leads."""
    shared: dict[str, int]
    """Paths of files that have other names as well, and their inodes. Only for git directories."""
    is_repository: bool
    """It looks like a git directory."""
    has_git: bool
    """Something called `.git` is in it, which is not among the directories."""


_remembered: dict[str, Listing] = {}
_remembered_of_git: dict[str, Listing] = {}


def listing_of(path: str, *, of_git: bool = False) -> Listing | None:
    """None: it is no directory, or cannot be read. `of_git`: look at each file for other names."""
    remembered = _remembered_of_git if of_git else _remembered
    try:
        status = os.lstat(path)
        known = remembered.get(path)
        if known is not None and known.changed_ns == status.st_ctime_ns and known.inode == status.st_ino:
            return known
        if not stat.S_ISDIR(status.st_mode):
            return None
        found = _read(path, status, of_git=of_git)
    except OSError:
        return None
    if status.st_ctime_ns < time.time_ns() - _UNSETTLED_NS:
        if len(remembered) >= _REMEMBERED_MAX:
            remembered.clear()
        remembered[path] = found
    return found


def _read(path: str, status: os.stat_result, *, of_git: bool) -> Listing:
    directories, links, shared, names = [], {}, {}, set()
    with os.scandir(path) as entries:
        for entry in itertools.islice(entries, _GIT_ENTRIES_MAX if of_git else _ENTRIES_MAX):
            names.add(entry.name)
            if entry.is_symlink():
                links[entry.path] = os.readlink(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                directories.append(entry.path)
            elif of_git and (file := entry.stat(follow_symlinks=False)).st_nlink > 1:
                shared[entry.path] = file.st_ino
    if len(names) == _ENTRIES_MAX:
        names.update(name for name in _TELLING if os.path.lexists(os.path.join(path, name)))
    is_repository = "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names)
    below = tuple(each for each in directories if not each.endswith("/.git"))
    return Listing(status.st_ino, status.st_ctime_ns, below, links, shared, is_repository, ".git" in names)


def walk_breadth_first(tops: Iterable[str], most: int, *, skipped: Collection[str]) -> Iterator[tuple[str, Listing]]:
    """Directories below these, the nearest first, as many as `most`; not into git directories or `skipped` ones. Only
    those are handed out in which a repository may be."""
    todo = [*tops]
    for path in todo:  # which grows meanwhile
        found = listing_of(path)
        if found is None:
            continue
        if found.has_git or found.is_repository:
            yield path, found
        if found.directories and len(todo) < most:
            todo += [below for below in found.directories if below not in skipped][: most - len(todo)]
