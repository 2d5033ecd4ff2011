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
_ENTRIES_MAX = 5000
"""Entries of one directory of a workspace that are read. All of a git directory are."""
_LINKS_MAX = 2000
_DIRECTORIES_MAX = _SHARED_MAX = 20_000
"""Links, directories and files with other names that are remembered of one directory."""
_REPOSITORY_NAMES = frozenset((".git", "HEAD", "commondir", "objects", "refs"))
"""Names by which git knows a repository."""


class DirectoryListing(NamedTuple):
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
    is_whole: bool
    """Nothing was left out above."""
    is_empty: bool


_remembered: dict[str, DirectoryListing] = {}
_remembered_of_git: dict[str, DirectoryListing] = {}


def listing_of(path: str, *, of_git: bool = False) -> DirectoryListing | None:
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


def _read(path: str, status: os.stat_result, *, of_git: bool) -> DirectoryListing:
    directories: list[str] = []
    links: dict[str, str] = {}
    shared: dict[str, int] = {}
    names: set[str] = set()
    is_whole, count = True, 0
    with os.scandir(path) as entries:
        for entry in entries if of_git else itertools.islice(entries, _ENTRIES_MAX):
            count += 1
            if entry.name in _REPOSITORY_NAMES:
                names.add(entry.name)
            try:
                if entry.is_symlink():
                    if is_room := len(links) < _LINKS_MAX:
                        links[entry.path] = os.readlink(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    if is_room := len(directories) < _DIRECTORIES_MAX:
                        directories.append(entry.path)
                elif of_git and (file := entry.stat(follow_symlinks=False)).st_nlink > 1:
                    if is_room := len(shared) < _SHARED_MAX:
                        shared[entry.path] = file.st_ino
                else:
                    continue
            except FileNotFoundError:  # gone meanwhile
                continue
            is_whole = is_whole and is_room
    if count == _ENTRIES_MAX:
        names.update(name for name in _REPOSITORY_NAMES if os.path.lexists(os.path.join(path, name)))
    is_repository = "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names)
    below = tuple(directories) if of_git else tuple(each for each in directories if not each.endswith("/.git"))
    return DirectoryListing(
        status.st_ino,
        status.st_ctime_ns,
        below,
        links,
        shared,
        is_repository,
        ".git" in names,
        is_whole,
        count == 0,
    )


def walk_breadth_first(
    tops: Iterable[str], most: int, *, skipped: Collection[str]
) -> Iterator[tuple[str, DirectoryListing]]:
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
