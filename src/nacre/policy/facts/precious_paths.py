"""Places that may not be deleted, or changed recursively: the root, homes, system directories, the working directory.

A target may have unknown parts. It then counts as what it becomes when they are empty: `"$X"/*` is everything, `"$X"`
is nothing. No I/O: a link may lead elsewhere.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext
from nacre.shell.command import Command
from nacre.shell.paths import absolute
from nacre.shell.symbolic import (
    BRACKET,
    QUESTION,
    STAR,
    UNKNOWN_NONEMPTY,
    each_unknown_empty,
    has_glob,
    is_literal,
    may_equal,
    to_display,
)


class PlaceKind(Enum):
    """Kinds of protected places."""

    ROOT = auto()
    HOME = auto()
    SYSTEM = auto()
    HERE = auto()
    """The working directory, everything in it, or a parent of it."""
    HISTORY = auto()
    """A repository's `.git`."""
    MOUNT = auto()
    OWN = auto()
    """Personal files: `~/Documents`, keys, settings."""


class ProtectedPlace(NamedTuple):
    """A place that would be lost, for a rule and its message."""

    kind: PlaceKind
    what: str
    """Description for a message."""


SYSTEM = frozenset((
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "proc", "root",
    "run", "sbin", "srv", "sys", "usr", "var", "tmp",
    "Applications", "Library", "System", "Users", "Volumes", "private", "cores",
))  # fmt: skip
_BELOW = frozenset((
    "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "usr/libexec", "usr/local", "usr/local/bin", "usr/local/lib",
    "usr/share", "usr/include", "var/lib", "var/log", "var/cache", "var/spool", "private/etc", "private/var",
))  # fmt: skip
_SCRATCH = frozenset(("tmp", "var/tmp", "var/log", "var/cache", "private/tmp"))
"""Their contents may be deleted, the directories themselves may not."""
_ANY = lazy_regex(
    rf"[{STAR}{QUESTION}]*{STAR}[{STAR}{QUESTION}]*|\.{STAR}+|\.{BRACKET}[!^]\.\]{STAR}|\.{QUESTION}+{STAR}|{STAR}\.{STAR}|"
    rf"{BRACKET}[!^]\.\]{STAR}"
)
_PERSONAL = lazy_regex(
    r"Documents|Desktop|Pictures|Music|Videos|Movies|\.gnupg|\.config|\.local|\.aws|\.kube|\.password-store"
)
_DOTS = lazy_regex(r"\.{1,2}(?:/|$)|/")
_GIT = lazy_regex(r"(.*)/\.git(?:/(?:objects|refs))?")
_HOME = lazy_regex(r"/(?:home|Users)/[^/]+")
_MAX_SHOWN_CHARS = 32
_MOUNT = lazy_regex(r"/mnt/[a-z]|/(?:media|Volumes)/[^/]+|(?:/run)?/media/[^/]+/[^/]+")


def protected_place(target: str, command: Command, context: CheckContext) -> ProtectedPlace | None:
    """Return what would be lost if this target were deleted recursively; None if it is not protected."""
    key = "precious", target, command.cwd, command.home, command.cwd_certain
    if key not in context.cache:
        context.cache[key] = _place_lost_to(target, command, context)
    known = context.cache[key]
    return known if isinstance(known, ProtectedPlace) else None


def _place_lost_to(target: str, command: Command, context: CheckContext) -> ProtectedPlace | None:
    for text in each_unknown_empty(target):
        if text == target:
            return _protected_place(text, command, context, guessed=False) if text else None
        place = _protected_place(text, command, context, guessed=True) if text not in ("", ".") else None
        if place is not None:
            return ProtectedPlace(place.kind, f"{place.what}, if what is unknown here is empty")
    return None


def _protected_place(text: str, command: Command, context: CheckContext, *, guessed: bool) -> ProtectedPlace | None:
    stem, everything = _strip_globs(text)
    path = absolute(stem, command.cwd)
    return (
        _working_directory(stem, everything, path, command, context)
        or _system(path, everything, guessed, command, context)
        or _history(stem, path, guessed, context)
        or _mount_point(path, context)
        or _own(path, context)
    )


def lies_in(target: str, command: Command, *directories: str) -> bool:
    """Return whether a target is one of these directories or lies in one, as far as it is known."""
    path = absolute(target, command.cwd)
    if not path.startswith(directories):
        return False
    return any(path == directory or path.startswith(directory + "/") for directory in directories)


def shorten_path(path: str) -> str:
    """Return a path for a message, cut at its beginning."""
    text = to_display(path)
    return text if len(text) <= _MAX_SHOWN_CHARS else "…" + text[1 - _MAX_SHOWN_CHARS :]


def _strip_globs(text: str) -> tuple[str, bool]:
    """Return the directory and whether everything in it is meant, as by `a/*/`."""
    stem, everything = text, False
    while stem:
        head, slash, last = stem.rstrip("/").rpartition("/")
        if not _ANY.fullmatch(last):
            break
        stem, everything = head + slash, True
    return stem or ".", everything


def _working_directory(
    stem: str, everything: bool, path: str, command: Command, context: CheckContext
) -> ProtectedPlace | None:
    what = ""
    named = stem.startswith("/") or (".." not in stem and _has_changed_directory(command, context))
    if not named and not _DOTS.sub("", stem):
        if ".." in stem:
            what = "what holds the working directory"
        else:
            what = "everything in the working directory" if everything else "the working directory"
    for cwd in (context.cwd,) if named else (context.cwd, command.cwd):
        if cwd == path:
            what = what or "the working directory"
        elif cwd.startswith(path + "/"):
            what = what or f"{shorten_path(path)}, which holds the working directory"
    if not what:
        return None
    return _system(path, everything, False, command, context) or ProtectedPlace(PlaceKind.HERE, what)


def _has_changed_directory(command: Command, context: CheckContext) -> bool:
    """Return whether the command certainly runs in another directory than the caller's, as after `cd build && …`."""
    place = command.cwd
    if place.endswith(f"/{STAR}"):  # one of several directories, as in `cd "$x" && …`
        place = place[:-1]
        return command.cwd_certain and not context.cwd.startswith(place) and is_literal(place)
    return command.cwd_certain and place != context.cwd and is_literal(place)


def _system(
    path: str, everything: bool, guessed: bool, command: Command, context: CheckContext
) -> ProtectedPlace | None:
    name = path[1:] if path.startswith("/") else None
    if name is None:
        return None
    if not name:
        return ProtectedPlace(PlaceKind.ROOT, "the whole file system")
    if name in ("home", "Users", "root"):
        return ProtectedPlace(PlaceKind.HOME, f"the home directories in {shorten_path(path)}")
    if path in (context.home, command.home) or _HOME.fullmatch(path):
        return (
            None
            if path.endswith("/" + UNKNOWN_NONEMPTY)
            else ProtectedPlace(PlaceKind.HOME, f"the home directory {shorten_path(path)}")
        )
    if name in _SCRATCH and (everything or guessed):
        return None
    if guessed and name[0].isupper():  # `"$project"/Library`
        return None
    if name in SYSTEM or name in _BELOW or (has_glob(name) and _may_be_system(name)):
        return ProtectedPlace(PlaceKind.SYSTEM, f"the system directory {shorten_path(path)}")
    return None


def _may_be_system(name: str) -> bool:
    return any(each.count("/") == name.count("/") and may_equal(name, each) for each in SYSTEM | _BELOW)


def _history(stem: str, path: str, guessed: bool, context: CheckContext) -> ProtectedPlace | None:
    """Protect `.git`, except that of a copy inside the working directory or in /tmp."""
    found = _GIT.fullmatch(path) if "/.git" in path else None
    if not found or guessed:
        return None
    by_name = "/" in stem.rstrip("/").removeprefix("./")
    if found[1] != context.cwd and (
        found[1].startswith("/tmp/") or (by_name and found[1].startswith(context.cwd + "/"))
    ):
        return None
    return ProtectedPlace(PlaceKind.HISTORY, "a repository's whole history")


def _mount_point(path: str, context: CheckContext) -> ProtectedPlace | None:
    if path != "/tmp" and (path in context.mount_points or _MOUNT.fullmatch(path)):
        return ProtectedPlace(PlaceKind.MOUNT, f"all that is mounted at {shorten_path(path)}")
    return None


def _own(path: str, context: CheckContext) -> ProtectedPlace | None:
    home, _, name = path.rpartition("/")
    if home and home == context.home and _PERSONAL.fullmatch(name):
        return ProtectedPlace(PlaceKind.OWN, f"all that the user keeps in {shorten_path(path)}")
    return None
