"""A directory in, its workspace out: what may be written there, and what in it may not. Looks, changes nothing.

A `.git` file, which tells where a linked worktree's repository is, is a file like any other, and anybody may have
written it: it is believed only when the repository points back.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from nacre.frozen import frozen

PROTECTED = (".claude", ".mcp.json", ".nacre")
"""What agents read their own orders from."""
_OF_GIT = ("hooks", "config", "config.worktree")
"""What makes git run programs."""
_OF_WORKTREE = ("commondir", "gitdir")
_MODULES = 1000
"""Directories that are searched for repositories of submodules."""


@frozen(kw_only=True)
class Workspace:
    """Real, absolute paths."""

    roots: tuple[str, ...]
    """Everything below may be written."""
    pinned: tuple[str, ...] = ()
    """Directories in it that hold something protected: moving them away would move the protection."""
    protected: tuple[str, ...] = ()
    """May only be read."""
    missing: tuple[str, ...] = ()
    """May not be made; or links, which may not be changed. No mount can hold either."""


def look(cwd: str, writable: Iterable[str] = (), protected: Iterable[str] = ()) -> Workspace:
    """`protected` beyond what always is."""
    here = os.path.realpath(cwd)
    roots = {here: None, **dict.fromkeys(os.path.realpath(path) for path in writable)}
    kept = [os.path.join(here, name) for name in PROTECTED] + [_resolved(path) for path in protected]
    pinned: list[str] = []
    pointer = _find_git(here)
    if pointer is not None:
        common, own = _directories(pointer)
        kept += [os.path.join(common, name) for name in _OF_GIT]
        for module in _modules(common):
            kept += [os.path.join(module, name) for name in _OF_GIT]
        if own != common:
            kept += [os.path.join(own, name) for name in (*_OF_GIT, *_OF_WORKTREE)]
        if pointer != common:
            kept.append(pointer)
        for directory in {own: None, common: None}:
            # a link to anywhere may have been left here by the last command
            if os.path.isdir(directory) and _is_ours(directory) and not os.path.islink(pointer):
                roots[directory] = None
                pinned.append(directory)
    if pointer != os.path.join(here, ".git"):  # none yet, or one above
        kept += [os.path.join(here, ".git", name) for name in _OF_GIT]
    kept += [os.path.realpath(path) for path in kept if os.path.islink(path)]
    tops = tuple(roots)
    inside = [path for path in dict.fromkeys(kept) if any(is_below(path, root) for root in tops)]
    return Workspace(
        roots=tops,
        pinned=tuple(pinned),
        protected=tuple(path for path in inside if _is_solid(path)),
        missing=tuple(path for path in inside if not _is_solid(path)),
    )


def _is_solid(path: str) -> bool:
    return os.path.lexists(path) and not os.path.islink(path)


def is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _resolved(path: str) -> str:
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
    for line in _lines(os.path.join(own, "config")):
        name, _, value = line.partition("=")
        if name.strip() == "worktree":
            return os.path.realpath(os.path.join(own, value.strip())) == os.path.realpath(tree)
    return False


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
    while todo and looks < _MODULES:
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


def _is_ours(directory: str) -> bool:
    """Somebody else's repository above us is none of ours."""
    try:
        return os.stat(directory).st_uid in (os.geteuid(), 0)
    except OSError:
        return False


def around(hidden: Iterable[str]) -> tuple[str, ...]:
    """Everything there is but what is hidden: the neighbours of each, and of each directory that leads to it. No links:
    one of them may lead back to what is hidden, and what the others lead to is there under its own name."""
    spines: set[str] = set()
    for path in hidden:
        while path != "/":
            spines.add(path)
            path = os.path.dirname(path)
    found: list[str] = []
    for directory in sorted({os.path.dirname(path) for path in spines}):
        if any(is_below(directory, path) for path in hidden):
            continue
        with contextlib.suppress(OSError):  # what we cannot list, the command cannot either
            found += [each.path for each in os.scandir(directory) if each.path not in spines and not each.is_symlink()]
    return tuple(found)
