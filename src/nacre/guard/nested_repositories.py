"""Repositories deeper in a workspace: what a command has put into one that makes git run programs is renamed.

Editors and prompts look into them, and so does `git status` above where the index names one. A repository as `git
clone` and `git submodule add` make it names no program, and is left alone; so is what was there before the command.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from nacre.guard.git_config import MAX_BYTES, UNREADABLE, settings_that_run_programs
from nacre.guard.git_index import gitlinks_in
from nacre.guard.listings import walk_breadth_first
from nacre.guard.nodes import QUARANTINED
from nacre.guard.walking import parent_of

_DIRECTORIES_MAX = 128
"""Directories of a workspace that are searched, the nearest to its roots first. Gitlinks are followed at any depth."""
_GITLINKS_MAX = 500
_INDEX_MAX_BYTES = 64 * 1024 * 1024

_gitlinks: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}
"""Gitlinks by index, valid until the index changes."""

Known = dict[tuple[int, int], frozenset[str]]
"""Git directories by device and inode, so that they may be moved, and what each has that runs programs."""


class Part(NamedTuple):
    """Something that makes git run a program."""

    path: str
    """The file to be renamed."""
    what: str


def look_for(roots: tuple[str, ...], repositories: tuple[str, ...]) -> Known:
    """Those below these roots that are none of these repositories, as they are now."""
    return {
        identity: frozenset(_parts_of(directory))
        for directory in _find(roots, repositories)
        if (identity := _identity(directory))
    }


def quarantine_new(roots: tuple[str, ...], repositories: tuple[str, ...], before: Known) -> list[str]:
    """Rename what was not there before; a sentence each."""
    said: list[str] = []
    for directory, way in _find(roots, repositories).items():
        identity = _identity(directory)
        known = before.get(identity, frozenset()) if identity else frozenset()
        new = [part for key, part in _parts_of(directory).items() if key not in known]
        said += _quarantine(way, new, roots)
    return said


def _find(roots: tuple[str, ...], repositories: tuple[str, ...]) -> dict[str, str]:
    """Git directories that are none of these, each with what leads git there. A common directory, which a `commondir`
    names, is one of them."""
    own = frozenset(repositories)
    tops = tuple(root for root in roots if root not in own)
    ways: list[str] = []
    for path, listing in walk_breadth_first(tops, _DIRECTORIES_MAX, skipped=own):
        ways += [f"{path.rstrip('/')}/.git"] if listing.has_git else []
        ways += [path] if listing.is_repository else []
    for repository in repositories:
        ways += _ways_of_gitlinks(repository)
    found = {directory: way for way in ways if way not in own and (directory := _led_to(way))}
    for directory in tuple(found):
        pointer = os.path.join(directory, "commondir")
        if common := _text(pointer).strip():
            found.setdefault(os.path.realpath(os.path.join(directory, common)), pointer)
    return {directory: way for directory, way in found.items() if directory not in own}


def _led_to(way: str) -> str:
    """The directory itself, or where a `.git` file or link leads; empty for nothing."""
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


def _ways_of_gitlinks(repository: str) -> list[str]:
    if os.path.basename(repository) != ".git":
        pointer = _text(os.path.join(repository, "gitdir")).strip()  # a linked worktree's
        tree = os.path.dirname(pointer)
        if not os.path.isabs(tree):
            return []
    else:
        tree = os.path.dirname(repository)
    index = os.path.join(repository, "index")
    try:
        status = os.lstat(index)
        marks = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = _gitlinks.get(index)
        if known is None or known[0] != marks:
            if not stat.S_ISREG(status.st_mode) or status.st_size > _INDEX_MAX_BYTES:
                return []
            with open(index, "rb") as file:
                known = _gitlinks[index] = marks, tuple(gitlinks_in(file.read(_INDEX_MAX_BYTES))[:_GITLINKS_MAX])
    except OSError:
        return []
    return [os.path.join(tree, path, ".git") for path in known[1]]


# what is in one


def _parts_of(directory: str) -> dict[str, Part]:
    """By what each says, without the place of the repository."""
    parts: dict[str, Part] = {}
    for name in ("config", "config.worktree"):
        path = os.path.join(directory, name)
        parts |= {f"{name}:{each}": Part(path, each.partition("=")[0]) for each in _settings(path)}
    hooks = os.path.join(directory, "hooks")
    if os.path.islink(hooks):
        parts[f"hooks:{os.readlink(hooks)}"] = Part(hooks, "a link to hooks elsewhere")
    else:
        parts |= {f"hooks:{name}:{changed}": Part(path, f"the hook {name}") for path, name, changed in _hooks(hooks)}
    return parts


def _settings(path: str) -> frozenset[str]:
    try:
        if os.stat(path).st_size > MAX_BYTES:
            return frozenset({UNREADABLE})
    except OSError:
        return frozenset()
    return settings_that_run_programs(_text(path))


def _hooks(directory: str) -> list[tuple[str, str, int]]:
    """Those that git might run: programs that are no samples."""
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
    """Of a file; empty if there is none."""
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


# what is done about it


def _quarantine(way: str, parts: list[Part], roots: tuple[str, ...]) -> list[str]:
    said = []
    for path in dict.fromkeys(part.path for part in parts):
        whats = ", ".join(dict.fromkeys(part.what for part in parts if part.path == path))
        renamed = path if _is_inside(path, roots) else way  # what leads there, not what belongs to others
        said.append(_rename(renamed, f"{path} would make git run programs ({whats})"))
    return said


def _is_inside(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _rename(path: str, why: str) -> str:
    try:
        with parent_of(path) as (parent, name):
            new = f"{name}{QUARANTINED}"
            if os.path.lexists(f"{os.path.dirname(path)}/{new}"):
                new = f"{name}-{os.urandom(4).hex()}{QUARANTINED}"
            os.rename(name, new, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError as error:
        return f"{why}, is new, and could not be renamed: {error.strerror}."
    return f"{why}, and is new: {path} is now called {new}. Look at it before you use it."
