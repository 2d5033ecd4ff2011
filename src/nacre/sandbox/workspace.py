"""Finds the workspace of a directory: the paths that may be written, and the exceptions in it. Reads only.

A `.git` file, which names the repository of a linked worktree or a submodule, is an ordinary file that any command may
have written. It is trusted only if the repository points back.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Collection, Iterable
from functools import lru_cache

from nacre.base.frozen import frozen
from nacre.sandbox.protected_names import AT_ROOTS, BARE, GIT, IN_HOME, OF_VARIABLES, is_unprotected

_OF_GIT = ("hooks", "config", "config.worktree", "commondir")
"""Names that make git run programs, or look for these elsewhere: git honours a `commondir` in any repository."""
_OF_WORKTREE = ("config.worktree", "commondir", "gitdir")
"""Names in a linked worktree's git directory, for the same reason."""
_MAX_SUBMODULE_DIRECTORIES = 1000
"""Maximum number of directories searched for git directories of submodules, and of linked worktrees."""
_MAX_HIDDEN_FILES = 10_000
"""Maximum number of hidden files that are checked for other names."""


@frozen(kw_only=True)
class Workspace:
    """A workspace. All paths are real and absolute."""

    roots: tuple[str, ...]
    """Directories that may be written, with everything below."""
    pinned: tuple[str, ...] = ()
    """Directories in the roots that lead to protected or hidden paths: moving one away would move the protection."""
    protected: tuple[str, ...] = ()
    """Existing paths that may only be read."""
    missing: tuple[str, ...] = ()
    """Paths that may not be created, and links that may not be changed. A mount can protect neither."""
    repositories: tuple[str, ...] = ()
    """Git directories that may be written or created. They are searched for what a command may not leave there."""


def discover(
    cwd: str,
    writable: Iterable[str] = (),
    protected: Iterable[str] = (),
    hidden: Iterable[str] = (),
    unprotected: Iterable[str] = (),
) -> Workspace:
    """Return the workspace of `cwd`. `writable` adds roots, `protected` adds protected paths. `hidden` are real paths.
    `unprotected` are names of the table in `protected_names.py` to leave writable."""
    here = os.path.realpath(cwd)
    given = tuple(dict.fromkeys([here, *(os.path.realpath(path) for path in writable)]))
    roots = dict.fromkeys(given)
    asked = [_resolve_parent(path) for path in protected]
    freed = tuple(unprotected)
    named = _protected_names(given, freed)
    kept = [*named, *asked]
    if not is_unprotected(BARE, freed):
        kept += [path for root in given for path in _makes_bare(root)]
    directories: dict[str, None] = {}
    pointer = _find_git(here)
    if pointer is not None and not os.path.islink(pointer):  # the last command may have left a link to anywhere
        for directory in dict.fromkeys(reversed(_directories(pointer))):
            if os.path.isdir(directory) and _is_ours(directory):
                roots[directory] = directories[directory] = None
    for each in dict.fromkeys([*([pointer] if pointer else []), *(os.path.join(root, ".git") for root in given)]):
        if os.path.lexists(each) and not is_unprotected(GIT, freed) and not _is_real_directory(each):
            kept.append(each)
        directories |= dict.fromkeys(_gitlink_directories(each))
    directories |= dict.fromkeys(root for root in given if _is_repository(root))
    for directory in () if is_unprotected(GIT, freed) else tuple(directories):
        kept += _repository_parts(directory)
    kinds = {path: _kind(path) for path in dict.fromkeys(kept)}
    for path in [path for path, kind in kinds.items() if kind == stat.S_IFLNK]:
        real = os.path.realpath(path)
        kinds[real] = _kind(real)
    tops = tuple(roots)
    starts = tuple(f"{root.rstrip('/')}/" for root in tops)
    inside = {path: kind for path, kind in kinds.items() if path.startswith(starts) or path in roots}
    solid = tuple(path for path, kind in inside.items() if kind not in (0, stat.S_IFLNK))
    ways = [way for path in solid for way in _directories_to(path, directories)]
    deeper = [path for path in named if kinds[path] and os.path.dirname(path) not in given]
    ways += [way for path in (*deeper, *asked, *hidden) for way in _directories_to(path, tops)]
    return Workspace(
        roots=tops,
        pinned=tuple(path for path in dict.fromkeys((*directories, *ways)) if _can_be_pinned(path, tops)),
        protected=solid,
        missing=tuple(path for path, kind in inside.items() if kind in (0, stat.S_IFLNK)),
        repositories=() if is_unprotected(GIT, freed) else _writable_repositories(given, directories, tops),
    )


def _protected_names(roots: tuple[str, ...], freed: tuple[str, ...]) -> list[str]:
    """Return the paths of the table's names in each root, in the home directory, and where variables move settings."""
    at_roots, in_home = _names(freed)
    found = [f"{root.rstrip('/')}/{name}" for root in roots for name in at_roots]
    home = os.path.realpath(os.path.expanduser("~"))
    others = (
        [(home, name) for name in in_home]
        if any(is_below(home, root) or is_below(root, home) for root in roots)
        else []
    )
    for variable, moved in OF_VARIABLES:
        if directory := os.environ.get(variable):
            others += [(os.path.realpath(directory), name) for name in moved]
    tops = tuple(f"{root.rstrip('/')}/" for root in roots)
    return found + [path for path in map("/".join, others) if path.startswith(tops)]


@lru_cache(maxsize=16)
def _names(freed: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the protected names of roots and of the home directory, without those that the caller unprotected."""
    at_roots = tuple(each.name for each in AT_ROOTS if not is_unprotected(each.name, freed))
    return at_roots, tuple(each.name for each in IN_HOME if not is_unprotected(each.name, freed))


def _writable_repositories(given: Iterable[str], found: Iterable[str], tops: Collection[str]) -> tuple[str, ...]:
    """Return the git directories inside `tops`, including those of submodules and linked worktrees in them."""
    every = dict.fromkeys([*found, *(f"{root.rstrip('/')}/.git" for root in given)])
    for directory in tuple(every):
        every |= dict.fromkeys([*_worktrees(directory), *_modules(directory)])
    return tuple(path for path in every if any(is_below(path, root) for root in tops))


def _makes_bare(root: str) -> list[str]:
    """Return the missing names without which git does not take a directory for a bare repository: usually HEAD. If the
    project has a file HEAD, return the other missing names; `config`, `objects` and `refs` alone are ordinary names."""
    if not os.path.lexists(os.path.join(root, BARE)):
        return [os.path.join(root, BARE)]
    beside = [os.path.join(root, name) for name in ("objects", "refs", "commondir")]
    return [] if _is_repository(root) else [path for path in beside if not os.path.lexists(path)]


def _is_real_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _gitlink_directories(pointer: str) -> list[str]:
    """Return the directories that git follows from a `.git`, trusted or not: protecting more paths is always safe."""
    own = os.path.realpath(pointer)
    if os.path.isfile(own):
        target = _target(own, "gitdir: ", os.path.dirname(own))
        if target is None:
            return []
        own = target
    common = _target(os.path.join(own, "commondir"), "", own)
    return [own] if common is None else [own, common]


def _is_repository(directory: str) -> bool:
    """Return whether a directory has the contents of a repository: a bare one, or a `.git` directory."""
    return os.path.isfile(os.path.join(directory, "HEAD")) and os.path.isdir(os.path.join(directory, "objects"))


def _repository_parts(directory: str) -> list[str]:
    """Return the paths that make git run programs, in a repository and in its worktrees and submodules."""
    kept = [os.path.join(directory, name) for name in _OF_GIT]
    for linked in _worktrees(directory):
        kept += [os.path.join(linked, name) for name in _OF_WORKTREE]
    for module in _modules(directory):
        kept += [os.path.join(module, name) for name in _OF_GIT]
        tree = _tree_of(module)
        if tree and os.path.lexists(os.path.join(tree, ".git")):
            kept.append(os.path.join(tree, ".git"))
    return kept


def _directories_to(path: str, tops: Collection[str]) -> list[str]:
    """Return every directory between one of `tops` (excluded) and a path, from the top down; none if no top is above
    it."""
    found: list[str] = []
    above = os.path.dirname(path)
    while above not in tops:
        if above == "/":
            return []
        found.append(above)
        above = os.path.dirname(above)
    return found[::-1]


def _can_be_pinned(path: str, roots: Iterable[str]) -> bool:
    """Return whether a path is a real directory in a root. Links are excluded: a mount would follow them."""
    return os.path.isdir(path) and os.path.realpath(path) == path and any(is_below(path, root) for root in roots)


def _kind(path: str) -> int:
    """Return the file type bits of a path's mode; 0 if it does not exist."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return 0


def is_below(path: str, root: str) -> bool:
    """Return whether `path` is `root` or below it. Compares names only."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def _resolve_parent(path: str) -> str:
    """Resolve the directory of a path only: the last part may be a link, or not exist."""
    head, tail = os.path.split(path.rstrip("/") or "/")
    return os.path.join(os.path.realpath(head), tail)


def _find_git(here: str) -> str | None:
    """Return the nearest `.git` in this directory or above, as git finds it."""
    while True:
        pointer = os.path.join(here, ".git")
        if os.path.lexists(pointer):
            return pointer
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def _directories(pointer: str) -> tuple[str, str]:
    """Return the repository's directory and this worktree's git directory, mostly the same. Return the pointer itself
    twice if it is not trusted."""
    if os.path.islink(pointer):
        return os.path.realpath(pointer), os.path.realpath(pointer)
    if not os.path.isfile(pointer):
        return pointer, pointer
    own = _target(pointer, "gitdir: ", os.path.dirname(pointer))
    if own is None or not os.path.isfile(os.path.join(own, "HEAD")):
        return pointer, pointer
    common = _target(os.path.join(own, "commondir"), "", own)
    if common is not None:  # a linked worktree
        back = _target(os.path.join(own, "gitdir"), "", own)
        if back == os.path.realpath(pointer) and os.path.dirname(own) == os.path.join(common, "worktrees"):
            return common, own
    elif f"{os.sep}modules{os.sep}" in own and _points_back(own, os.path.dirname(pointer)):  # a submodule
        return own, own
    return pointer, pointer


def _points_back(own: str, tree: str) -> bool:
    return _tree_of(own) == os.path.realpath(tree)


def _tree_of(module: str) -> str | None:
    """Return the working tree of a submodule according to its own configuration."""
    for line in _lines(os.path.join(module, "config")):
        name, _, value = line.partition("=")
        if name.strip() == "worktree":
            return os.path.realpath(os.path.join(module, value.strip().strip('"')))
    return None


def _target(file: str, before: str, base: str) -> str | None:
    """Return the path in a one-line file, after the prefix `before` and relative to `base`; None if there is none."""
    for line in _lines(file)[:1]:
        if line.startswith(before) and line[len(before) :].strip():
            return os.path.realpath(os.path.join(base, line[len(before) :].strip()))
    return None


def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as text:
            return text.read(64 * 1024).splitlines()
    except OSError:
        return []


def _modules(common: str) -> list[str]:
    """Return the git directories of submodules, at any depth: their names have slashes, and they may nest."""
    found: list[str] = []
    todo, looks = [os.path.join(common, "modules")], 0
    while todo and looks < _MAX_SUBMODULE_DIRECTORIES:
        directory, looks = todo.pop(), looks + 1
        with contextlib.suppress(OSError):
            for entry in os.scandir(directory):
                if not entry.is_dir(follow_symlinks=False):
                    continue
                # recognised by its protected names: a command could remove its HEAD
                is_one = any(os.path.lexists(os.path.join(entry.path, name)) for name in _OF_GIT)
                found += [entry.path] if is_one else []
                todo.append(os.path.join(entry.path, "modules") if is_one else entry.path)
    return found


def _worktrees(common: str) -> list[str]:
    """Return the git directories of linked worktrees."""
    try:
        with os.scandir(os.path.join(common, "worktrees")) as entries:
            return [
                entry.path
                for entry in itertools.islice(entries, _MAX_SUBMODULE_DIRECTORIES)
                if entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


def _is_ours(directory: str) -> bool:
    """Return whether this user or root owns a directory. A repository of another user, found above the workspace, is
    not used."""
    try:
        return os.stat(directory).st_uid in (os.geteuid(), 0)
    except OSError:
        return False


DEVICES = "/dev"


def list_tops() -> tuple[str, ...]:
    """Return all paths in `/` except devices and links, whose targets are in one of the others."""
    with os.scandir("/") as entries:
        return tuple(sorted(each.path for each in entries if each.path != DEVICES and not each.is_symlink()))


def readable_siblings(hidden: Iterable[str], devices: tuple[str, ...] = (DEVICES,)) -> tuple[str, ...]:
    """Return all paths except devices and hidden ones: the siblings of each, and of each directory that leads to it.

    Links are left out: one may lead to a hidden path, and the targets of the others are listed under their own names.
    Other names of a hidden file are left out too: a grant applies to the file, whatever its name."""
    hidden = tuple(hidden)
    closed = (*hidden, *devices)
    spines: set[str] = set()
    for path in closed:
        while path != "/":
            spines.add(path)
            path = os.path.dirname(path)
    found: list[os.DirEntry[str]] = []
    for directory in sorted({os.path.dirname(path) for path in spines}):
        if any(is_below(directory, path) for path in closed):
            continue
        with contextlib.suppress(OSError):  # a directory that we cannot list, the command cannot list either
            found += [each for each in os.scandir(directory) if each.path not in spines and not each.is_symlink()]
    several = {each.path: status for each in found if (status := _if_it_has_more_names(each.path)) is not None}
    secret = _identities(hidden) if several else set()
    return tuple(
        each.path
        for each in found
        if each.path not in several or (secret is not None and _identity(several[each.path]) not in secret)
    )


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _if_it_has_more_names(path: str) -> os.stat_result | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode) else None


def _identities(hidden: Iterable[str]) -> set[tuple[int, int]] | None:
    """Return the identities of hidden files with more than one name; None if there are more than `_MAX_HIDDEN_FILES`
    hidden files."""
    found: set[tuple[int, int]] = set()
    looks = 0
    for top in hidden:
        inside = (os.path.join(above, name) for above, _, names in os.walk(top) for name in names)
        for path in itertools.chain([top], inside):
            looks += 1
            if looks > _MAX_HIDDEN_FILES:
                return None
            if (status := _if_it_has_more_names(path)) is not None:
                found.add(_identity(status))
    return found
