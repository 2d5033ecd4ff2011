"""Finds and undoes what a command may not leave in a git directory: links, through which git would write elsewhere (the
text of the next commit into a start-up file), and operations in progress that run programs.

Of `objects`, only the places where git writes files of fixed names are inspected, not its 256 directories, whose files
are named by their content; nor are the object directories of git-lfs and git-annex. Hooks are checked in other
modules. Links that existed before stay. Directories are inspected up to a limit; new ones beyond it are moved away
without inspection.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from nacre.protected_paths.directory_cache import listing_of
from nacre.protected_paths.git_operations import NAMES, STEPS_FILE, TOO_LARGE, Programs, find_programs, read_steps
from nacre.protected_paths.git_quarantine import (
    QuarantineDirectory,
    read_file,
    rename_beside,
    replace_file,
    scan_open,
    separate_file,
)
from nacre.protected_paths.open_path import parent_of
from nacre.protected_paths.quarantine import QUARANTINED

DIRECTORIES_MAX = 20_000
"""Maximum number of directories inspected in one git directory."""
_PASSES_MAX = 4
_HEAD_MAX_BYTES = 4096
_PATH_MAX_BYTES = 4000
"""Longer paths cannot be inspected from the root; git, which starts in the working tree, may still reach them."""
_NOTES_MAX = 20
"""Maximum number of sentences about links in one git directory."""
NAMES_OF_GIT = frozenset(
    """branches hooks info logs modules objects rebase-apply rebase-merge refs reftable remotes rr-cache sequencer
    worktrees""".split()
)
"""Directories that git itself writes to: inspected first if there are too many."""
_OBJECT = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}|pack-[0-9a-f]+\.[a-z]+")
"""Names of files that are named by their content."""
_EDITOR_LOCK = ".#"
"""Prefix of the dangling symbolic links with which Emacs locks files."""


class GitState(NamedTuple):
    """Entries of a git directory that a run may not add."""

    top: str
    """Path of the git directory when it was inspected."""
    links: dict[str, str]
    """Path and target of each symbolic link."""
    shared: dict[str, int]
    """Path and inode of each file that has another name (hard link)."""
    programs: Programs
    """Files of operations in progress, each with the programs that it runs."""
    head: bytes | None
    """Content of HEAD, if that is a regular file."""
    looked: list[str]
    """Directories that were inspected."""
    unlooked: list[str]
    """Directories that were not inspected, because there are too many."""
    crowded: list[str]
    """Directories with more links or subdirectories than `directory_cache` keeps."""


NOTHING = GitState("", {}, {}, {}, None, [], [], [])


def inspect_git_directory(directory: str, others: frozenset[str]) -> GitState:
    """Return the current state of a git directory; empty if there is none. `others` are git directories inside it that
    are inspected separately."""
    found = _look(directory, others, DIRECTORIES_MAX)
    if found.unlooked:
        begin = len(directory) + 1
        found = _look(directory, others, DIRECTORIES_MAX, lambda path: path[begin:].partition("/")[0] in NAMES_OF_GIT)
    return found


def describe_new(directory: str, before: GitState, others: frozenset[str]) -> str:
    """Describe one new entry that `undo` would remove; empty if there is none."""
    now = inspect_git_directory(directory, others)
    before = _follow_move(before, directory)
    for path, target in now.links.items():
        if before.links.get(path) != target and not _is_harmless(path, target):
            return f"{path} is a link to {target}"
    for path, whats in now.programs.items():
        if not set(whats) <= set(before.programs.get(path, ())):
            return f"{path} has {_shorten(whats[0])}"
    return ""


def undo(directory: str, before: GitState, others: frozenset[str]) -> list[str]:
    """Remove, rename or move away every new entry. Return a sentence for each."""
    before = _follow_move(before, directory)
    now = _look(directory, others, DIRECTORIES_MAX)
    said: list[str] = []
    if now.unlooked or now.crowded or before.unlooked or before.crowded:
        now, said = _move_crowd(directory, before, others)
    for path, target in now.links.items():
        if before.links.get(path) != target and not _is_harmless(path, target):
            said += _remove(path, target, before.head if path == f"{directory}/HEAD" else None)
    for path, inode in now.shared.items():
        if before.shared.get(path) != inode:
            said += [separated] if (separated := separate_file(path)) else []
    if len(said) > _NOTES_MAX:
        said[_NOTES_MAX:] = [f"{len(said) - _NOTES_MAX} more links in {directory} were treated the same way."]
    for path, whats in now.programs.items():
        new = [each for each in whats if each not in before.programs.get(path, ())]
        if new:
            said.append(_disarm(path, new))
    return said


def _follow_move(before: GitState, directory: str) -> GitState:
    """Return `before` with its paths changed to `directory`, if the git directory was moved there."""
    begin = len(before.top)
    if before.top in ("", directory):
        return before
    return before._replace(
        top=directory,
        links={directory + path[begin:]: target for path, target in before.links.items()},
        shared={directory + path[begin:]: inode for path, inode in before.shared.items()},
        programs={directory + path[begin:]: whats for path, whats in before.programs.items()},
        looked=[directory + path[begin:] for path in before.looked],
        unlooked=[directory + path[begin:] for path in before.unlooked],
        crowded=[directory + path[begin:] for path in before.crowded],
    )


def _look(
    directory: str,
    others: frozenset[str],
    most: int,
    is_first: Callable[[str], bool] | None = None,
    left_out: frozenset[str] = frozenset(),
) -> GitState:
    """Inspect up to `most` directories. Those for which `is_first` is true come before the others; those in `left_out`
    are skipped."""
    planted = GitState(directory, {}, {}, {}, read_file(f"{directory}/HEAD", _HEAD_MAX_BYTES), [], [], [])
    objects, worktrees = f"{directory}/objects", f"{directory}/worktrees/"
    skipped = {*left_out, f"{directory}/hooks", f"{directory}/lfs/objects", f"{directory}/annex/objects"}
    first, later = [directory], list[str]()
    for queue in (first, later):
        for path in queue:  # the list grows during the loop
            if len(planted.looked) >= most:
                planted.unlooked.append(path)
                continue
            found = listing_of(path, of_git=True)
            if found is None:
                if len(os.fsencode(path)) > _PATH_MAX_BYTES:
                    planted.unlooked.append(path)
                continue
            planted.looked.append(path)
            if found.links:
                planted.links.update(found.links)
            if found.shared:
                planted.shared.update(
                    {each: inode for each, inode in found.shared.items() if not _is_object(each, directory)}
                )
            if not found.is_whole:
                planted.crowded.append(path)
            above, _, name = path.rpartition("/")
            if name in NAMES and not found.is_empty and (above == directory or above.startswith(worktrees)):
                planted.programs.update(find_programs(path))
            if path == objects:
                queue += [f"{objects}/info", f"{objects}/pack"]
            elif found.directories:
                below = [each for each in found.directories if each not in others and each not in skipped]
                if path == directory:
                    below = [each for each in below if not each.endswith(QUARANTINED)]
                if is_first is None or queue is later:
                    queue += below
                else:
                    for each in below:
                        (first if is_first(each) else later).append(each)
    return planted


def _move_crowd(directory: str, before: GitState, others: frozenset[str]) -> tuple[GitState, list[str]]:
    """Move away new entries that are too many to inspect. Return the state without them, and a sentence for each
    problem."""
    known, were_crowded = {directory, *before.looked}, set(before.crowded)
    kept_out = {*before.unlooked}
    most = (
        2 * DIRECTORIES_MAX if before.unlooked else DIRECTORIES_MAX
    )  # the directories that stay must fit into the inspection before the next run
    with QuarantineDirectory(directory) as box:
        for _ in range(_PASSES_MAX):
            now = _look(directory, others, most, known.__contains__, frozenset(kept_out))
            crowded = [path for path in now.crowded if path not in were_crowded]
            if not crowded and not now.unlooked:
                break
            tops = dict.fromkeys(
                _find_topmost_new(path, directory, known) for path in (*now.unlooked, *crowded) if path not in known
            )
            ours = [path for path in tops if os.path.dirname(path) not in were_crowded]
            kept_out |= tops.keys() - set(ours)
            box.move_paths(ours, directory)
            for path in crowded:
                if path in known:
                    _empty_directory(path, directory, before, known | others, box)
        else:
            box.failed = box.failed or "too many to move"
    # In a directory that was crowded before the run, the user's links cannot be told from new ones.
    for path in [path for path in now.links if os.path.dirname(path) in were_crowded]:
        del now.links[path]
    for path in [path for path in now.shared if os.path.dirname(path) in were_crowded]:
        del now.shared[path]
    said = []
    if box.count:
        said.append(
            f"{directory} got more links or directories than nacre inspects: {box.count} of the new ones were "
            f"moved to {box.path} without inspection. Check them before you use them."
        )
    if box.failed:
        said.append(
            f"{directory} got more links or directories than nacre inspects, and not all could be moved away: "
            f"{box.failed}. Check the directory before you use git there."
        )
    return now, said


def _find_topmost_new(path: str, directory: str, known: set[str]) -> str:
    """Return the topmost new directory on the way to a path: its parent is known."""
    while (above := os.path.dirname(path)) != directory and above not in known:
        path = above
    return path


def _empty_directory(
    path: str, directory: str, before: GitState, known: set[str] | frozenset[str], box: QuarantineDirectory
) -> None:
    """Move new links and directories away one by one, without a list of them: there may be millions."""
    skipped = {f"{directory}/{name}" for name in ("hooks", "objects", "lfs", "annex")}
    try:
        with scan_open(path) as (fd, entries):
            for entry in entries:
                full = f"{path}/{entry.name}"
                if entry.is_symlink():
                    is_new = full not in before.links
                elif entry.is_dir(follow_symlinks=False):
                    is_new = (
                        full not in known
                        and full not in skipped
                        and not (path == directory and entry.name.endswith(QUARANTINED))
                    )
                else:
                    is_new = (
                        full not in before.shared
                        and not _is_object(full, directory)
                        and os.stat(entry.name, dir_fd=fd, follow_symlinks=False).st_nlink > 1
                    )
                if is_new:
                    box.move(entry.name, fd, full[len(directory) + 1 :])
    except OSError as error:
        box.failed = error.strerror or str(error)


def _is_object(path: str, directory: str) -> bool:
    """Return whether a path is an object file. Local clones share these by hard links."""
    way, _, name = path[len(directory) :].rpartition("/")
    return (way.startswith("/objects/") or (way.startswith("/modules/") and "/objects/" in way)) and bool(
        _OBJECT.fullmatch(name)
    )


def _is_harmless(path: str, target: str) -> bool:
    """Return whether a link is a HEAD in git's old format, which points to a branch, or an editor's lock."""
    name = os.path.basename(path)
    if name.startswith(_EDITOR_LOCK):
        return "/" not in target
    return name == "HEAD" and target.startswith("refs/") and ".." not in target.split("/")


def _remove(path: str, target: str, text: bytes | None) -> list[str]:
    """Remove a link, or replace it by a file with content `text`."""
    try:
        with parent_of(path) as (parent, name):
            if text is None:
                os.unlink(name, dir_fd=parent)
                return [f"{path} was made a link to {target}, and has been removed: git would write there."]
            replace_file(name, parent, text)
            return [f"{path} was made a link to {target}, and has been put back: git would write there."]
    except FileNotFoundError:
        return []
    except OSError as error:
        return [
            f"{path} was made a link to {target}, and could not be removed: {error.strerror}. Git would write there."
        ]


def _disarm(path: str, whats: list[str]) -> str:
    """Remove the steps that run programs from a todo list; rename any other file."""
    shown = _shorten(whats[0])
    if os.path.basename(path) != STEPS_FILE or TOO_LARGE in whats:
        return rename_beside(path, f"{path} would make git run programs or write elsewhere ({shown})")
    try:
        kept = [line for line in read_steps(path) if line not in whats]
        with parent_of(path) as (parent, name):
            replace_file(name, parent, "\n".join(kept).encode("utf-8", "surrogateescape"))
    except OSError as error:
        return f"{path} got steps that run programs ({shown}), which could not be removed: {error.strerror}."
    return f"{path} got steps that run programs ({shown}), which have been removed."


def _shorten(text: str) -> str:
    return text.strip()[:80]
