"""Make the paths of a script absolute, without looking at the file system."""

from __future__ import annotations

from functools import lru_cache
from posixpath import commonpath

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.symbolic import STAR, UNKNOWN_NONEMPTY

_MAX_PATH_CHARS = 4096
"""Longest path; the kernel accepts no longer one (PATH_MAX)."""
_UNTIDY = lazy_regex(r"(?:^|/)\.{0,2}(?:/|$)")
"""Matches names that cannot just be appended to a directory: absolute, or with `.`, `..`, `//` or a trailing `/`."""


def common_parent_glob(places: list[str]) -> str:
    """Return a glob for all that lies in the deepest common parent of some directories.

    Empty if one of them is that parent, or if one is not absolute.
    """
    if not all(place[:1] == "/" for place in places):
        return ""
    common = commonpath(places)
    return "" if common in places else f"{common.rstrip('/')}/{STAR}"


def absolute(name: str, cwd: str) -> str:
    """Return a path, absolute and normalised, without looking at the file system.

    Removes `..` and `.`, and replaces the names that /proc has for `/` and `cwd` (`/proc/self/root`, `/proc/self/cwd`).
    """
    return _absolute(name, cwd) if len(name) < _MAX_PATH_CHARS else _normalise(name, cwd)


@lru_cache(512)  # several rules query the same path
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
    """Tell whether the parts are those of `/proc/self`, `/proc/1` or `/proc/$$`, or of a thread of such a process."""
    return len(parts) == 2 or (len(parts) == 4 and parts[2] == "task")


def _directory_of_process(process: str, cwd: str) -> list[str]:
    """Return the working directory of a process in /proc: `/` for PID 1, unknown for other PIDs, else `cwd`.

    A name such as `self` or `$$` is, or may be, the process that `cwd` belongs to.
    """
    if process == "1":
        return []
    return [UNKNOWN_NONEMPTY] if process.isdigit() or cwd[:1] != "/" else [part for part in cwd.split("/") if part]
