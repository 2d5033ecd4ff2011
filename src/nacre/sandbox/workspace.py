"""A directory in, its workspace out: what may be written there, and what in it may not. Looks, changes nothing.

A `.git` file, which tells where a linked worktree's repository is, is a file like any other, and anybody may have
written it: it is believed only when the repository points back.
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
"""What makes git run programs, or look for that elsewhere: it believes a `commondir` in any repository."""
_OF_WORKTREE = ("config.worktree", "commondir", "gitdir")
_MAX_SUBMODULE_DIRECTORIES = 1000
"""Directories that are searched for repositories of submodules, or of linked worktrees."""
_MAX_HIDDEN_FILES = 10_000
"""Hidden files that are looked at for other names of theirs."""


@frozen(kw_only=True)
class Workspace:
    """Real, absolute paths."""

    roots: tuple[str, ...]
    """Everything below may be written."""
    pinned: tuple[str, ...] = ()
    """Directories in it that lead to what is protected or hidden: moving them away would move the protection."""
    protected: tuple[str, ...] = ()
    """May only be read."""
    missing: tuple[str, ...] = ()
    """May not be made; or links, which may not be changed. No mount can hold either."""
    repositories: tuple[str, ...] = ()
    """Git directories that may be written, or be made: looked through for what a command may not leave there."""


def discover(
    cwd: str,
    writable: Iterable[str] = (),
    protected: Iterable[str] = (),
    hidden: Iterable[str] = (),
    unprotected: Iterable[str] = (),
) -> Workspace:
    """`protected` beyond what always is; `hidden` by its real name; `unprotected`: names of the table."""
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
    if pointer is not None and not os.path.islink(pointer):  # a link to anywhere may have been left by the last command
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
    """The table's names, where each of them is looked for."""
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
    """Those of roots, and those of the home directory."""
    at_roots = tuple(each.name for each in AT_ROOTS if not is_unprotected(each.name, freed))
    return at_roots, tuple(each.name for each in IN_HOME if not is_unprotected(each.name, freed))


def _writable_repositories(given: Iterable[str], found: Iterable[str], tops: Collection[str]) -> tuple[str, ...]:
    """Those of submodules and linked worktrees as well, which lie in them."""
    every = dict.fromkeys([*found, *(f"{root.rstrip('/')}/.git" for root in given)])
    for directory in tuple(every):
        every |= dict.fromkeys([*_worktrees(directory), *_modules(directory)])
    return tuple(path for path in every if any(is_below(path, root) for root in tops))


def _makes_bare(root: str) -> list[str]:
    """The missing names without which git takes no directory for a repository: HEAD, as a rule. Where a project has a
    file of that name, those that are missing beside it; `config`, `objects` and `refs` alone are ordinary names."""
    if not os.path.lexists(os.path.join(root, BARE)):
        return [os.path.join(root, BARE)]
    beside = [os.path.join(root, name) for name in ("objects", "refs", "commondir")]
    return [] if _is_repository(root) else [path for path in beside if not os.path.lexists(path)]


def _is_real_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _gitlink_directories(pointer: str) -> list[str]:
    """The directories in which git looks from a `.git`, believed or not: protecting one gives nothing away."""
    own = os.path.realpath(pointer)
    if os.path.isfile(own):
        target = _target(own, "gitdir: ", os.path.dirname(own))
        if target is None:
            return []
        own = target
    common = _target(os.path.join(own, "commondir"), "", own)
    return [own] if common is None else [own, common]


def _is_repository(directory: str) -> bool:
    """A bare one, or what is in a `.git`."""
    return os.path.isfile(os.path.join(directory, "HEAD")) and os.path.isdir(os.path.join(directory, "objects"))


def _repository_parts(directory: str) -> list[str]:
    """What in it makes git run programs, there and in its worktrees and submodules."""
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
    """Every directory from the nearest of these, which is none of them, down to a path; none if it is in none."""
    found: list[str] = []
    above = os.path.dirname(path)
    while above not in tops:
        if above == "/":
            return []
        found.append(above)
        above = os.path.dirname(above)
    return found[::-1]


def _can_be_pinned(path: str, roots: Iterable[str]) -> bool:
    """Real directories only: a mount would follow a link."""
    return os.path.isdir(path) and os.path.realpath(path) == path and any(is_below(path, root) for root in roots)


def _kind(path: str) -> int:
    """The type bits of its mode; 0 if there is nothing."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return 0


def is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _resolve_parent(path: str) -> str:
    """Its directory, that is: the last part may be a link itself, or not exist."""
    head, tail = os.path.split(path.rstrip("/") or "/")
    return os.path.join(os.path.realpath(head), tail)


def _find_git(here: str) -> str | None:
    """The nearest `.git` from here up, as git looks for it."""
    while True:
        pointer = os.path.join(here, ".git")
        if os.path.lexists(pointer):
            return pointer
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def _directories(pointer: str) -> tuple[str, str]:
    """The repository's directory, and this worktree's own: mostly the same. The pointer itself if it leads nowhere."""
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
    """Where a submodule's files are, by its own word."""
    for line in _lines(os.path.join(module, "config")):
        name, _, value = line.partition("=")
        if name.strip() == "worktree":
            return os.path.realpath(os.path.join(module, value.strip().strip('"')))
    return None


def _target(file: str, before: str, base: str) -> str | None:
    """The path that a one-line file holds."""
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
    """The repositories of submodules, which lie as deep as their names have parts, and of theirs."""
    found: list[str] = []
    todo, looks = [os.path.join(common, "modules")], 0
    while todo and looks < _MAX_SUBMODULE_DIRECTORIES:
        directory, looks = todo.pop(), looks + 1
        with contextlib.suppress(OSError):
            for entry in os.scandir(directory):
                if not entry.is_dir(follow_symlinks=False):
                    continue
                # by what is protected itself: a command could take its HEAD away
                is_one = any(os.path.lexists(os.path.join(entry.path, name)) for name in _OF_GIT)
                found += [entry.path] if is_one else []
                todo.append(os.path.join(entry.path, "modules") if is_one else entry.path)
    return found


def _worktrees(common: str) -> list[str]:
    """The directories that it has for linked worktrees."""
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
    """Somebody else's repository above us is none of ours."""
    try:
        return os.stat(directory).st_uid in (os.geteuid(), 0)
    except OSError:
        return False


DEVICES = "/dev"


def list_tops() -> tuple[str, ...]:
    """Everything there is but devices: what is in `/`, links aside, which lead to one of these."""
    with os.scandir("/") as entries:
        return tuple(sorted(each.path for each in entries if each.path != DEVICES and not each.is_symlink()))


def readable_siblings(hidden: Iterable[str], devices: tuple[str, ...] = (DEVICES,)) -> tuple[str, ...]:
    """Everything there is but devices and what is hidden: the neighbours of each, and of each directory that leads to
    it. No links: one of them may lead back to what is hidden, and what the others lead to is there under its own name.
    No other names of a hidden file either: what is granted is the file, by whatever name."""
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
        with contextlib.suppress(OSError):  # what we cannot list, the command cannot either
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
    """Of hidden files with more than one name; None if they are too many to look at."""
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
