"""Repositories deeper in a workspace. New parts that make git run programs are renamed, and new links in them removed,
as in the workspace's own repository.

Editors and prompts read them, and so does `git status` above them if the index names one. A repository as `git clone`
and `git submodule add` create it names no program and is left alone, like everything that existed before the command.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from typing import NamedTuple, TypeVar

from nacre.protected_paths.directory_cache import listing_of, walk_breadth_first
from nacre.protected_paths.git_config import MAX_BYTES, UNREADABLE, find_setting, settings_that_run_programs
from nacre.protected_paths.git_directories import (
    DIRECTORIES_MAX,
    NAMES_OF_GIT,
    NOTHING,
    GitState,
    describe_new,
    inspect_git_directory,
    undo,
)
from nacre.protected_paths.git_index import Index, read_index
from nacre.protected_paths.git_quarantine import rename_beside
from nacre.protected_paths.quarantine import QUARANTINED

_DIRECTORIES_MAX = 128
"""Directories of a workspace that are searched, the nearest to its roots first. Gitlinks are followed at any depth."""
_INDEX_MAX_BYTES = 256 * 1024 * 1024
"""A larger index counts as unreadable."""
_UNSETTLED_NS = 100_000_000
"""Nanoseconds: after a change this recent, another one may leave the file's timestamps the same."""
_CACHED_MAX = 200
_KEPT_INDEXES_MAX = 4
_KEPT_INDEX_MAX_BYTES = 16 * 1024 * 1024
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_gitlinks: dict[str, tuple[tuple[int, ...], _Gitlinks]] = {}
"""Gitlinks by path of the index, with the marks of that file; valid while these are unchanged."""
_indexes: dict[tuple[str, int, bool], tuple[bytes, Index]] = {}
"""Parsed indexes with their content, for files that changed too recently to rely on their timestamps."""
_configurations: dict[str, tuple[tuple[int, ...], _Configuration]] = {}


_Gitlinks = tuple[str, ...] | None
"""Paths; None if the index cannot be read with certainty."""


class _Configuration(NamedTuple):
    runs: frozenset[str]
    """Settings that run programs."""
    worktree: str
    """Value of `core.worktree`; empty if not set."""
    hash_size: int
    """Bytes of an object hash: 20 or 32."""


class Repository(NamedTuple):
    """State of a git directory before a run."""

    parts: frozenset[str]
    """Keys of the parts that run programs. A key holds the content, not the path."""
    planted: GitState
    """Its links and operations in progress."""


Known = dict[tuple[int, int], Repository]
"""Repositories by device and inode of the git directory, so that they are found again after a move."""
_UNKNOWN = Repository(frozenset(), NOTHING)
_NOWHERE = (-1, -1)


class RepositoryPart(NamedTuple):
    """A file that makes git run a program."""

    path: str
    """The file to rename."""
    what: str
    """Description of its effect, for a message."""


def find_nested_repositories(roots: tuple[str, ...], repositories: tuple[str, ...]) -> Known:
    """Return the current state of all git directories below the roots. `repositories` are inspected elsewhere: only
    their unreadable indexes are recorded."""
    known: Known = {}
    found, unread = _find(roots, repositories)
    others = frozenset((*repositories, *found))
    for directory in unread:
        if identity := _identity(directory):
            known[identity] = Repository(frozenset(_describe_index(directory)), NOTHING)
    for directory in found:
        if identity := _identity(directory):
            parts = frozenset(_parts_of(directory, roots)) | known.get(identity, _UNKNOWN).parts
            known[identity] = Repository(parts, _look_into(directory, others))
    return known


def keep_common(known: Known, earlier: Known) -> Known:
    """Keep only the parts that an earlier search has found as well: later ones may be those of a run that has not
    ended."""
    return {
        identity: Repository(
            each.parts & earlier.get(identity, _UNKNOWN).parts, earlier.get(identity, _UNKNOWN).planted
        )
        for identity, each in known.items()
    }


def quarantine_new(roots: tuple[str, ...], repositories: tuple[str, ...], before: Known) -> list[str]:
    """Rename what was not there before. Return a sentence for each."""
    said: list[str] = []
    found, unread = _find(roots, repositories)
    others = frozenset((*repositories, *found))
    for directory, way in found.items():
        known = before.get(_identity(directory) or _NOWHERE, _UNKNOWN)
        if _is_inside(directory, roots):
            said += undo(directory, known.planted, others) if _is_looked_at(directory) else []
        elif _is_looked_at(directory) and (new := describe_new(directory, known.planted, others)):
            said.append(rename_beside(way, f"{way} leads to a repository outside the workspace, in which {new}"))
        parts = _parts_of(directory, roots)
        said += _quarantine(way, [part for key, part in parts.items() if key not in known.parts], roots)
    for directory in unread:
        known = before.get(_identity(directory) or _NOWHERE, _UNKNOWN)
        parts = _describe_index(directory)
        way = found.get(directory, directory)
        said += _quarantine(way, [part for key, part in parts.items() if key not in known.parts], roots)
    return said


def _look_into(directory: str, others: frozenset[str]) -> GitState:
    return inspect_git_directory(directory, others) if _is_looked_at(directory) else NOTHING


def _is_looked_at(directory: str) -> bool:
    """Return whether git takes a directory for a repository, or `git init` would make it one. Other directories are not
    inspected: a link or a `.git` file may lead to any directory, even the root."""
    listing = listing_of(directory, of_git=True)
    return listing is not None and (listing.is_repository or directory.endswith("/.git"))


# search for repositories


def _find(roots: tuple[str, ...], repositories: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """Return git directories with the path that leads git to each, and those whose index cannot be read.

    The first does not contain `repositories`. It includes common directories, which a `commondir` names, the git
    directories of submodules and worktrees, and those of gitlinks in an index."""
    own = frozenset(repositories)
    tops = tuple(root for root in roots if root not in own)
    ways = list(repositories)
    for path, listing in walk_breadth_first(tops, _DIRECTORIES_MAX, skipped=own):
        ways += [f"{path.rstrip('/')}/.git"] if listing.has_git else []
        ways += [path] if listing.is_repository else []
    found: dict[str, str] = {}
    unread: dict[str, None] = {}
    ways = list(dict.fromkeys(ways))
    seen = set(ways)
    for way in ways:  # the list grows during the loop
        directory = _resolve_gitlink(way)
        if not directory or (way in own and directory != way):
            continue
        common = _find_common_directory(directory)
        for each, by in ((directory, way), (common, f"{directory}/commondir")):
            if each not in own:
                found.setdefault(each, by)
        new = _list_inner_repositories(directory)
        gitlinks = _read_gitlinks(directory, common)
        if gitlinks is None:
            unread[directory] = None
        elif gitlinks:
            trees = _find_trees(way, directory, common)
            inner = [os.path.normpath(os.path.join(tree, path)) for tree in trees for path in gitlinks]
            new += [f"{path}/.git" for path in inner if _is_inside(path, roots)]
        ways += [each for each in dict.fromkeys(new) if each not in seen]
        seen.update(new)
    return found, list(unread)


def _find_trees(way: str, directory: str, common: str) -> set[str]:
    """Return the working trees: next to the `.git`, or where a linked worktree or the configuration names them."""
    trees = {os.path.dirname(way)} if os.path.basename(way) == ".git" else set()
    pointer = os.path.dirname(_text(f"{directory}/gitdir").strip())
    trees |= {pointer} if os.path.isabs(pointer) else set()
    for each in (directory, common):
        if worktree := _read_configuration(f"{each}/config").worktree:
            trees.add(os.path.normpath(os.path.join(each, worktree)))
    return trees


def _list_inner_repositories(directory: str) -> list[str]:
    """Return the git directories of submodules, at any depth (their names may contain slashes), and of linked
    worktrees."""
    top = listing_of(directory, of_git=True)
    if top is None:
        return []
    found: list[str] = []
    names = (f"{directory}/modules", f"{directory}/worktrees")
    todo = [path for path in names if path in top.directories or not top.is_whole]
    for path in todo:  # the list grows during the loop
        listing = listing_of(path, of_git=True)
        if listing is None:
            continue
        below = listing.directories
        if listing.is_repository and path not in names:
            found.append(path)
            below = tuple(each for each in below if os.path.basename(each) not in NAMES_OF_GIT)
        if len(todo) < DIRECTORIES_MAX:
            todo += below
    return found


def _find_common_directory(directory: str) -> str:
    common = _text(f"{directory}/commondir").strip()
    return os.path.realpath(os.path.join(directory, common)) if common else directory


def _resolve_gitlink(way: str) -> str:
    """Return the directory itself, or the target of a `.git` file or link; empty if there is none."""
    try:
        mode = os.lstat(way).st_mode
    except OSError:
        return ""
    if stat.S_ISDIR(mode):
        return way
    if stat.S_ISLNK(mode):
        return os.path.realpath(way)
    text = _text(way)
    if not text.startswith("gitdir:"):
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(way), text[len("gitdir:") :].strip()))


# the index


def _describe_index(directory: str) -> dict[str, RepositoryPart]:
    """Return a part for an index that cannot be read with certainty: it may name any repository and any file."""
    index = f"{directory}/index"
    return {f"index:{_read_marks(index)}": RepositoryPart(index, "an index that is not as git writes it")}


def _read_gitlinks(directory: str, common: str) -> _Gitlinks:
    index = f"{directory}/index"
    marks = _read_marks(index)
    if not marks:
        return ()
    known = _gitlinks.get(index)
    if known is not None and known[0] == marks:
        return known[1]
    hash_size = _read_configuration(f"{common}/config").hash_size
    found: _Gitlinks = None
    is_lasting = True
    with contextlib.suppress(OSError, ValueError):
        found, is_lasting = _collect_gitlinks(directory, index, hash_size)
    if is_lasting and _is_settled(marks):
        _remember(_gitlinks, index, (marks, found))
    return found


def _collect_gitlinks(directory: str, path: str, hash_size: int) -> tuple[tuple[str, ...], bool]:
    """Return the gitlinks of an index, and whether they stay valid while its file is unchanged: not if some are in a
    shared index."""
    index = _read_index(path, hash_size)
    found = dict.fromkeys(index.gitlinks)
    for name in index.shared:
        shared = f"{directory}/sharedindex.{name}"
        if name.strip("0") and _read_marks(shared):
            found |= dict.fromkeys(_read_index(shared, hash_size, with_files=index.is_unnamed).gitlinks)
    return tuple(found), not index.shared


def _read_index(path: str, hash_size: int, *, with_files: bool = False) -> Index:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        data = file.read(_INDEX_MAX_BYTES + 1)
    if len(data) > _INDEX_MAX_BYTES:
        raise ValueError("an index that is too large")
    key = (path, hash_size, with_files)
    known = _indexes.get(key)
    if known is not None and known[0] == data:
        return known[1]
    found = read_index(data, hash_size, with_files=with_files)
    if len(data) <= _KEPT_INDEX_MAX_BYTES:
        _remember(_indexes, key, (data, found), _KEPT_INDEXES_MAX)
    return found


def _remember(cache: dict[_Key, _Value], key: _Key, value: _Value, most: int = _CACHED_MAX) -> None:
    if len(cache) >= most and key not in cache:
        cache.clear()
    cache[key] = value


# configuration and hooks


def _parts_of(directory: str, roots: tuple[str, ...]) -> dict[str, RepositoryPart]:
    """Return the parts that run programs. Keys hold the content without the path of the repository."""
    parts: dict[str, RepositoryPart] = {}
    for name in ("config", "config.worktree"):
        path = os.path.join(directory, name)
        configuration = _read_configuration(path)
        parts |= {f"{name}:{each}": RepositoryPart(path, each.partition("=")[0]) for each in configuration.runs}
        tree = configuration.worktree
        if tree and not _is_inside(os.path.realpath(os.path.join(directory, tree)), roots):
            parts[f"{name}:core.worktree={tree}"] = RepositoryPart(path, "core.worktree, outside the workspace")
    hooks = os.path.join(directory, "hooks")
    if os.path.islink(hooks):
        parts[f"hooks:{os.readlink(hooks)}"] = RepositoryPart(hooks, "a link to hooks elsewhere")
    else:
        parts |= {
            f"hooks:{name}:{changed}": RepositoryPart(path, f"the hook {name}") for path, name, changed in _hooks(hooks)
        }
    return parts


def _read_configuration(path: str) -> _Configuration:
    marks = _read_marks(path)
    if not marks:
        return _Configuration(frozenset(), "", 20)
    known = _configurations.get(path)
    if known is not None and known[0] == marks:
        return known[1]
    if marks[1] > MAX_BYTES:
        return _Configuration(frozenset({UNREADABLE}), "", 20)
    text = _text(path)
    is_long = find_setting(text, "extensions.objectformat").lower() == "sha256"
    found = _Configuration(settings_that_run_programs(text), find_setting(text, "core.worktree"), 32 if is_long else 20)
    if _is_settled(marks):
        _remember(_configurations, path, (marks, found))
    return found


def _read_marks(path: str) -> tuple[int, ...]:
    """Return values of a file that differ after a change, at least the last one; empty if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_settled(marks: tuple[int, ...]) -> bool:
    return marks[-1] < time.time_ns() - _UNSETTLED_NS


def _hooks(directory: str) -> list[tuple[str, str, int]]:
    """Return path, name and ctime of the hooks that git may run: executable files and links, except samples."""
    found: list[tuple[str, str, int]] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith((".sample", QUARANTINED)):
                    continue
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_mode & 0o111):
                    found.append((entry.path, entry.name, status.st_ctime_ns))
    except OSError:
        pass
    return found


def _text(path: str) -> str:
    """Return the content of a file; empty if it cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


# quarantine


def _quarantine(way: str, parts: list[RepositoryPart], roots: tuple[str, ...]) -> list[str]:
    said = []
    for path in dict.fromkeys(part.path for part in parts):
        whats = ", ".join(dict.fromkeys(part.what for part in parts if part.path == path))
        renamed = path if _is_inside(path, roots) else way  # rename what leads there, not files of other users
        said.append(rename_beside(renamed, f"{path} would make git run programs ({whats})"))
    return said


def _is_inside(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
