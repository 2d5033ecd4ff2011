"""Paths of a script, made absolute without looking at the file system."""

from __future__ import annotations

from functools import lru_cache
from posixpath import commonpath

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.symbolic import STAR, UNKNOWN_NONEMPTY

_MAX_PATH_CHARS = 4096
"""Characters of a path; the system takes no more."""
_UNTIDY = lazy_regex(r"(?:^|/)\.{0,2}(?:/|$)")
"""Absolute, or with `.`, `..`, `//` or a `/` at its end."""


def common_parent_glob(places: list[str]) -> str:
    """Directories as one glob: what lies in the one that holds them all. Empty if that is one of them."""
    if not all(place[:1] == "/" for place in places):
        return ""
    common = commonpath(places)
    return "" if common in places else f"{common.rstrip('/')}/{STAR}"


def absolute(name: str, cwd: str) -> str:
    """A path, normalised without looking: `..` and `.` taken out, and the names that /proc has for `/` and `cwd`."""
    return _absolute(name, cwd) if len(name) < _MAX_PATH_CHARS else _normalise(name, cwd)


@lru_cache(512)  # several rules ask in turn about the same path
def _absolute(name: str, cwd: str) -> str:
    tidy = name and not _UNTIDY.search(name) and cwd[:1] == "/" and cwd[-1] != "/" and cwd[:5] != "/proc"
    if tidy and len(cwd) + len(name) < _MAX_PATH_CHARS:
        return f"{cwd}/{name}"
    return _normalise(name, cwd)


def _normalise(name: str, cwd: str) -> str:
    if not name.startswith("/"):
        name = f"{cwd or UNKNOWN_NONEMPTY}/{name}"
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            if parts and parts[-1] != UNKNOWN_NONEMPTY:
                parts.pop()
        elif part == "root" and parts[:1] == ["proc"] and name[0] == "/" and _is_process(parts):
            parts.clear()
        elif part == "cwd" and parts[:1] == ["proc"] and name[0] == "/" and _is_process(parts):
            parts = _directory_of_process(parts[1], cwd)
        elif part and part != ".":
            parts.append(part)
    path = ("/" if name.startswith("/") else "") + "/".join(parts)
    return path if len(path) <= _MAX_PATH_CHARS else f"/{UNKNOWN_NONEMPTY}"


def _is_process(parts: list[str]) -> bool:
    """`/proc/self`, `/proc/1`, `/proc/$$`, or a thread of it."""
    return len(parts) == 2 or (len(parts) == 4 and parts[2] == "task")


def _directory_of_process(process: str, cwd: str) -> list[str]:
    """Where a process of /proc runs: here if it is this one, or may be; the first of all in `/`; others anywhere."""
    if process == "1":
        return []
    return [UNKNOWN_NONEMPTY] if process.isdigit() or cwd[:1] != "/" else [part for part in cwd.split("/") if part]
