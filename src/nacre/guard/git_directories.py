"""Git directories: what a command may not leave there. Links, by which git would write elsewhere (the text of the next
commit into a start-up file), and lines of a rebase in progress that run programs.

`objects` is looked at where git writes files of fixed names, not in its 256 directories: what lies there is named by
its content. Hooks are protected as a whole. Links that were there before stay.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import NamedTuple

from nacre.guard.listings import listing_of
from nacre.guard.walking import parent_of

_DIRECTORIES_MAX = 2000
"""Directories that are looked at in one git directory."""
_TODO_MAX_BYTES = 16 * 1024 * 1024
_HEAD_MAX_BYTES = 4096
_TODO = "git-rebase-todo"
_PENDING = "/rebase-merge"
_OBJECT = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}|pack-[0-9a-f]+\.[a-z]+")
"""Names of files that are named by their content."""
_RUNS = re.compile(r"[ \t]*(?:exec|x)[ \t]")
_EDITOR_LOCK = ".#"
"""Emacs locks a file by a link of this name that leads nowhere."""


class Planted(NamedTuple):
    """Entries of a git directory that no run may add."""

    links: dict[str, str]
    """Symbolic links by path, and where each leads."""
    shared: dict[str, int]
    """Files that have another name as well, and their inodes."""
    steps: dict[str, tuple[str, ...]]
    """Files that list the steps of a rebase, and those steps that run programs."""
    head: bytes | None
    """The content of its HEAD, if that is a file."""


def look_at(directory: str, others: frozenset[str]) -> Planted:
    """As it is now; empty if there is none. `others` are looked at by themselves."""
    planted = Planted({}, {}, {}, read_file(f"{directory}/HEAD", _HEAD_MAX_BYTES))
    objects, hooks = f"{directory}/objects", f"{directory}/hooks"
    todo = [directory]
    for path in todo:  # which grows meanwhile
        found = listing_of(path, of_git=True)
        if found is None:
            continue
        planted.links.update(found.links)
        if found.shared:
            planted.shared.update(
                {each: inode for each, inode in found.shared.items() if not _is_object(each, directory)}
            )
        if path.endswith(_PENDING) and (steps := _steps_that_run(f"{path}/{_TODO}")):
            planted.steps[f"{path}/{_TODO}"] = steps
        if path == objects:
            todo += [f"{objects}/info", f"{objects}/pack"]
        elif found.directories and len(todo) < _DIRECTORIES_MAX:
            todo += [below for below in found.directories if below not in others and below != hooks]
    return planted


def _is_object(path: str, directory: str) -> bool:
    """A local clone has hard links to those."""
    way, _, name = path[len(directory) :].rpartition("/")
    return (way.startswith("/objects/") or (way.startswith("/modules/") and "/objects/" in way)) and bool(
        _OBJECT.fullmatch(name)
    )


def undo(directory: str, before: Planted, others: frozenset[str]) -> list[str]:
    """Remove what is new; a sentence each."""
    now = look_at(directory, others)
    said: list[str] = []
    for path, target in now.links.items():
        if before.links.get(path) != target and not _is_harmless(path, target):
            said += _remove(path, f"a link to {target}", before.head if path == f"{directory}/HEAD" else None)
    for path, inode in now.shared.items():
        if before.shared.get(path) != inode:
            said += _remove(path, "another name of a file", None)
    for path, steps in now.steps.items():
        new = [step for step in steps if step not in before.steps.get(path, ())]
        if new:
            said += _drop_steps(path, new)
    return said


def _is_harmless(path: str, target: str) -> bool:
    """A HEAD of the old kind, which names a branch, or the lock of an editor."""
    name = os.path.basename(path)
    if name.startswith(_EDITOR_LOCK):
        return "/" not in target
    return name == "HEAD" and target.startswith("refs/") and ".." not in target.split("/")


def _steps_that_run(path: str) -> tuple[str, ...]:
    text = read_file(path, _TODO_MAX_BYTES) or b""
    return tuple(line for line in text.decode("utf-8", "surrogateescape").split("\n") if _RUNS.match(line))


def read_file(path: str, most: int) -> bytes | None:
    """A regular file, not through a link."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(most)
    except OSError:
        return None


def _remove(path: str, what: str, text: bytes | None) -> list[str]:
    """`text`: what is put there instead."""
    try:
        with parent_of(path) as (parent, name):
            if text is None:
                os.unlink(name, dir_fd=parent)
                return [f"{path} was made {what}, and has been removed: git would write there."]
            _replace(name, parent, text)
            return [f"{path} was made {what}, and has been put back: git would write there."]
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"{path} was made {what}, and could not be removed: {error.strerror}. Git would write there."]


def _drop_steps(path: str, steps: list[str]) -> list[str]:
    shown = steps[0].strip()[:80]
    try:
        kept = [line for line in (read_file(path, _TODO_MAX_BYTES) or b"").split(b"\n") if _decoded(line) not in steps]
        with parent_of(path) as (parent, name):
            _replace(name, parent, b"\n".join(kept))
    except OSError as error:
        return [f"{path} got steps that run programs ({shown}), which could not be removed: {error.strerror}."]
    return [f"{path} got steps that run programs ({shown}), which have been removed."]


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _replace(name: str, parent: int, text: bytes) -> None:
    spare = f".nacre-{os.getpid()}-{os.urandom(4).hex()}"
    fd = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=parent)
    try:
        with open(fd, "wb") as file:
            file.write(text)
        os.rename(spare, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(spare, dir_fd=parent)
        raise
