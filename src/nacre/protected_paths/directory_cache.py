"""Directory listings, cached until the directory changes: checking one costs one `lstat`."""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

_UNSETTLED_NS = 100_000_000
"""Nanoseconds: after a change this recent, another one may leave the directory's timestamps the same."""
_REMEMBERED_MAX = 10_000
_ENTRIES_MAX = 5000
"""Entries read of one directory of a workspace. Git directories are read completely."""
_LINKS_MAX = 2000
_DIRECTORIES_MAX = _SHARED_MAX = 20_000
"""Limits on the links, directories and hard-linked files that are kept of one directory."""
_REPOSITORY_NAMES = frozenset((".git", "HEAD", "commondir", "objects", "refs"))
"""Names by which git recognises a repository."""


class DirectoryListing(NamedTuple):
    """The entries of a directory that may matter to git."""

    inode: int
    changed_ns: int
    """Its ctime, which no program can set back."""
    directories: tuple[str, ...]
    """Paths of its subdirectories; links to directories are not included."""
    links: dict[str, str]
    """Path and target of each symbolic link."""
    shared: dict[str, int]
    """Path and inode of each file that has other names (hard links). Only for git directories."""
    is_repository: bool
    """True if the directory looks like a git directory."""
    has_git: bool
    """True if there is an entry `.git`, which is not in `directories`."""
    is_whole: bool
    """No limit on links, directories and hard-linked files was exceeded. Does not regard `_ENTRIES_MAX`."""
    is_empty: bool


_remembered: dict[str, DirectoryListing] = {}
_remembered_of_git: dict[str, DirectoryListing] = {}


def listing_of(path: str, *, of_git: bool = False) -> DirectoryListing | None:
    """Return the listing of a directory; None if it is not a directory or cannot be read. `of_git`: check each file for
    hard links."""
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
            except FileNotFoundError:  # removed meanwhile
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
    """Yield directories below `tops` that may hold a repository, the nearest first. At most `most` directories are
    visited; git directories and `skipped` ones are not entered."""
    todo = [*tops]
    for path in todo:  # the list grows during the loop
        found = listing_of(path)
        if found is None:
            continue
        if found.has_git or found.is_repository:
            yield path, found
        if found.directories and len(todo) < most:
            todo += [below for below in found.directories if below not in skipped][: most - len(todo)]
