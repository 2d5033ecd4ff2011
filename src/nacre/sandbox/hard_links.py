"""Find other names (hard links) of hidden files, within bounds. Reads only.

A mount hides one name of a file; the file stays readable by its others. The kernel reports how many names a file has,
not where they are. So directories are searched, and only when a hidden file has more names than are hidden.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, TypeAlias

_MAX_DIRECTORIES = 1000
"""Maximum number of directories searched, the nearest first."""


_Identity: TypeAlias = tuple[int, int]
"""Device and inode number."""


class _File(NamedTuple):
    path: str
    names: int
    """Its link count."""
    known: set[tuple[_Identity | None, str]]
    """Names that are hidden, as directory and name in it."""


class OtherNames(NamedTuple):
    """The result of a search for hard links to hidden files."""

    found: tuple[str, ...]
    """Names to hide as well."""
    exposed: tuple[str, ...]
    """Hidden files that stay readable by a name that was not found."""


def find_other_names(hidden: Iterable[str], near: Iterable[str], points: Collection[str] = ()) -> OtherNames:
    """Search the directories `near` and below, and those of the hidden files, for other names of the hidden files.

    `points` are mount points: a path where something is mounted is not a separate name. Only hidden paths that are
    files themselves are considered, not files inside a hidden directory."""
    paths = dict.fromkeys(hidden)
    files: dict[_Identity, _File] = {}
    for path in paths:
        status = _status(path)
        if status is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            file = files.setdefault(_identity(status), _File(path, status.st_nlink, set()))
            if path not in points:
                file.known.add(_place(path))
    missing = {identity for identity, file in files.items() if len(file.known) < file.names}
    found: list[str] = []
    for entry in _entries((*near, *(os.path.dirname(file.path) for file in files.values())), paths) if missing else ():
        identity = _identity_among(entry, missing)
        if identity is None or entry.path in points or (place := _place(entry.path)) in files[identity].known:
            continue
        found.append(entry.path)
        files[identity].known.add(place)
        if len(files[identity].known) == files[identity].names:
            missing.discard(identity)
            if not missing:
                break
    return OtherNames(tuple(found), tuple(files[identity].path for identity in files if identity in missing))


def _place(path: str) -> tuple[_Identity | None, str]:
    """Return a directory's identity and a name in it. A directory that is mounted twice has two paths but the same
    names."""
    directory, name = os.path.split(path)
    status = _status(directory)
    return None if status is None else _identity(status), name


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _identity_among(entry: os.DirEntry[str], wanted: set[_Identity]) -> _Identity | None:
    """Return the identity of an entry if it is in `wanted`. The directory listing holds inode numbers: only on a match
    is lstat() called."""
    if not any(entry.inode() == inode for _, inode in wanted):
        return None
    status = _status(entry.path)
    return None if status is None or _identity(status) not in wanted else _identity(status)


def _entries(tops: Iterable[str], skipped: Collection[str]) -> Iterator[os.DirEntry[str]]:
    """Yield every entry in and below these directories, breadth first. Symbolic links are not followed."""
    waiting = deque(dict.fromkeys(os.path.realpath(top) for top in tops))
    seen: set[str] = set()
    while waiting and len(seen) < _MAX_DIRECTORIES:
        directory = waiting.popleft()
        if directory in seen or directory in skipped:
            continue
        seen.add(directory)
        with contextlib.suppress(OSError), os.scandir(directory) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
