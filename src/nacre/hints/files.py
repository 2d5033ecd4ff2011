"""Hints for "no such file" (the nearest existing path), "permission denied" (the cause) and "cannot execute" (the
cause)."""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Iterator

from nacre.base.lazy_regex import lazy_regex
from nacre.hints.failure import Complaint, CpuBudget, Failure, is_name, names_in, nearest, quote_text

_MISSING = lazy_regex(
    r"(?i)no such file or directory|\bENOENT\b|file or directory not found|cannot find module|"
    r"did not match any file|does not exist|file not found"
)
_DENIED = lazy_regex(r"(?i)permission denied|\bEACCES\b")
_RUN = lazy_regex(r"(?i)bad interpreter|cannot execute|exec format error|required file not found")
_QUOTED = lazy_regex(
    r"(?<!\w)'([^'\n]{1,400})'|\"([^\"\n]{1,400})\"|\u2018([^\u2018\u2019\n]{1,400})\u2019|`([^`'\n]{1,400})['`]"
)
_BEFORE = lazy_regex(r"(?:^|: )([^:\n]{1,400}?): (?:bad interpreter|cannot execute|[^:]{0,40}$)")
_AFTER = lazy_regex(r"(?:not found|directory|denied)[:,]? (?:open |stat |scandir )?([^\s'\"]{1,400})$")
_SKIPPED = frozenset(
    (".git", "node_modules", ".venv", "venv", "__pycache__", ".cache", "target", ".tox", ".mypy_cache")
)
_MAX_ENTRIES = 4000
"""Maximum number of directory entries examined for a name."""


def missing(complaint: Complaint, failure: Failure) -> str | None:
    if failure.paths_hidden or not (found := _MISSING.search(complaint.line)):
        return None
    for word in _words(complaint.line, found):
        places = failure.directories_of(word)
        for place in places:
            path = os.path.normpath(os.path.join(place, os.path.expanduser(word)))
            if len(path) > 4000 or os.path.lexists(path):
                break  # it exists: the complaint was about something else
            if near := _near(path, word, place):
                if len(places) > 1 and place != failure.cwd and not os.path.isabs(near):
                    near = os.path.join(place, near)  # the command may have meant another directory
                return f"There is no {quote_text(word)}; did you mean {quote_text(near)}?"
    return None


def _words(line: str, found: re.Match[str]) -> Iterator[str]:
    """Yield candidates for the path: quoted text, else the text before the complaint and after it."""
    marked = [next(filter(None, match.groups())) for match in _QUOTED.finditer(line)]
    before = line[: found.start()].rstrip(": ").rpartition(": ")[2]
    after = _AFTER.search(line)
    for word in marked or [each for each in (before, after and after[1]) if each]:
        if word and is_name(word) and word not in (".", "/") and not _MISSING.search(word):
            yield word


def _near(path: str, word: str, place: str) -> str:
    """Return an existing path for a misspelt name, a missing extension or a wrong directory; empty if there is none."""
    clock = CpuBudget()
    known, rest = _deepest(path)
    if rest:
        names = nearest(rest[0], names_in(known), clock)
        for name in names[:5]:
            guess = os.path.join(known, name, *rest[1:])
            if os.path.lexists(guess):
                return _as_written(guess, word, place)
        whole = [name for name in names_in(known) if name.startswith(f"{rest[0]}.")]
        if len(rest) == 1 and len(whole) == 1:  # its extension is missing
            return _as_written(os.path.join(known, whole[0]), word, place)
    if not os.path.isabs(word) and ("/" in word or "." in word):
        up, inner = place, word.removeprefix("./")
        for _ in range(4):  # the path is relative to a directory above
            up = os.path.dirname(up)
            if os.path.lexists(guess := os.path.join(up, inner)):
                return guess
        base = os.path.basename(place) + "/"  # the path is relative to the parent directory, but this is already inside
        if inner.startswith(base) and os.path.lexists(os.path.join(place, inner.removeprefix(base))):
            return inner.removeprefix(base)
    return _find_below(os.path.basename(path), place, word, clock)


def _deepest(path: str) -> tuple[str, list[str]]:
    """Return the deepest existing directory of the path, and the missing parts below it."""
    rest: list[str] = []
    while not os.path.isdir(path):
        path, last = os.path.split(path)
        rest.insert(0, last)
        if not last:
            return path, []
    return path, rest


def _find_below(name: str, place: str, word: str, clock: CpuBudget) -> str:
    """Return the only file with this name below the directory, as far as the budget allows; empty if there is none."""
    found: list[str] = []
    queue, seen = [(place, 0)], 0
    while queue and not clock.expired and seen < _MAX_ENTRIES:
        directory, deep = queue.pop(0)
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    seen += 1
                    if entry.name == name:
                        found.append(entry.path)
                    if (
                        deep < 4
                        and entry.name not in _SKIPPED
                        and is_name(entry.name)
                        and entry.is_dir(follow_symlinks=False)
                    ):
                        queue.append((entry.path, deep + 1))
                    if seen >= _MAX_ENTRIES:
                        break
        except OSError:
            continue
    return _as_written(found[0], word, place) if len(found) == 1 else ""


def _as_written(path: str, word: str, place: str) -> str:
    """Return the path relative to `place` if `word` was relative, too."""
    return path if os.path.isabs(word) or not path.startswith(place + os.sep) else os.path.relpath(path, place)


def permission_denied(complaint: Complaint, failure: Failure) -> str | None:
    if failure.confined or not (found := _DENIED.search(complaint.line)):
        return None
    for word in _words(complaint.line, found):
        for place in failure.directories:
            path = os.path.join(place, os.path.expanduser(word))
            try:
                status = os.stat(path)
            except OSError:
                continue
            if hint := _barrier(path, word, status, complaint.line):
                return hint
    return None


_RUNNERS = lazy_regex(r"^(?:/\S*/)?(?:ba|da|z|k)?sh: |: line \d+: |^(?:env|xargs|sudo|timeout|nohup|make)\b|exec")


def _barrier(path: str, word: str, status: os.stat_result, line: str) -> str | None:
    mode = f"{stat.S_IMODE(status.st_mode):o}"
    if stat.S_ISREG(status.st_mode) and _RUNNERS.search(line) and not os.access(path, os.X_OK):
        if with_what := _runner_of(path):
            return (
                f"{quote_text(word)} is not executable (mode {mode}): `chmod +x` it, or run it as `{with_what} {word}`."
            )
        if _first_line(path).startswith(b"\x7fELF"):
            return f"{quote_text(word)} is not executable (mode {mode}): `chmod +x` it."
        return f"{quote_text(word)} is not executable (mode {mode}), and has no `#!` line."
    if stat.S_ISREG(status.st_mode) and os.statvfs(path).f_flag & os.ST_NOEXEC and _RUNNERS.search(line):
        return f"{quote_text(word)} is on a file system mounted noexec: run it as `bash FILE`."
    if os.geteuid() and status.st_uid != os.geteuid() and not os.access(path, os.R_OK | os.W_OK):
        return f"{quote_text(word)} belongs to {_user(status.st_uid)} (mode {mode}), and you are {_user(os.geteuid())}."
    return None


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _first_line(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(fd, 256) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)


def _runner_of(path: str) -> str:
    """Return the interpreter of a script, from its `#!` line or its extension."""
    try:
        line = _first_line(path).partition(b"\n")[0].decode("ascii", "replace").rstrip()
    except OSError:
        return ""
    if line.startswith("#!"):
        words = line[2:].split()
        name = os.path.basename(words[-1] if words and words[0].endswith("/env") else words[0]) if words else ""
        return name if re.fullmatch(r"[\w.+-]{1,20}", name) else ""
    return {".sh": "bash", ".py": "python3", ".js": "node", ".pl": "perl", ".rb": "ruby"}.get(
        os.path.splitext(path)[1], ""
    )


def unrunnable(complaint: Complaint, failure: Failure) -> str | None:
    """Explain a file that exists and is executable, but cannot be run because of its first bytes."""
    if failure.paths_hidden or not _RUN.search(complaint.line):
        return None
    words = [match[1] for match in _BEFORE.finditer(complaint.line)] + complaint.line.split(": ")
    for word in dict.fromkeys(words):
        for place in failure.directories:
            path = os.path.join(place, word)
            if not is_name(word) or not os.path.isfile(path):
                continue
            start = _first_line(path)
            line = start.partition(b"\n")[0]
            if start.startswith(b"#!") and line.endswith(b"\r"):
                return f"{quote_text(word)} has Windows line endings: `sed -i 's/\\r$//' FILE` repairs it."
            if start.startswith(b"#!"):
                wanted = line[2:].decode("utf-8", "replace").split()[:1]
                if wanted and is_name(wanted[0]) and not os.path.exists(wanted[0]):
                    return f"{quote_text(word)} needs {quote_text(wanted[0])}, which does not exist."
            elif start.startswith(b"\x7fELF") and (built := _built_for(start)) and built != os.uname().machine:
                return f"{quote_text(word)} is built for {built}, and this is {os.uname().machine}."
    return None


_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}


def _built_for(start: bytes) -> str:
    order = "little" if start[5:6] == b"\x01" else "big"
    return _MACHINES.get(int.from_bytes(start[18:20], order), "")  # type: ignore[arg-type]


PROVIDERS = (unrunnable, permission_denied, missing)
