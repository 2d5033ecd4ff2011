"""Hints for exhausted resources: disk space, quota, inotify watches, memory, network access."""

from __future__ import annotations

import os

from nacre.base.lazy_regex import lazy_regex
from nacre.base.units import describe_size
from nacre.hints.failure import Complaint, Failure, quote_text

_SPACE = lazy_regex(r"(?i)no space left on device|\bENOSPC\b")
_WATCHES = lazy_regex(r"(?i)file watchers|inotify")
_QUOTA = lazy_regex(r"(?i)disk quota exceeded|\bEDQUOT\b")
_MEMORY = lazy_regex(
    r"(?i)\bMemoryError\b|cannot allocate memory|out of memory|OutOfMemoryError|bad_alloc|\bENOMEM\b|"
    r"oom-?kill|killed signal terminated program"
)
_UNRESOLVED = lazy_regex(
    r"(?i)could(?: not|n't) resolve|name or service not known|temporary failure (?:in name resolution|resolving)|"
    r"EAI_AGAIN|ENOTFOUND|network is unreachable"
)
_PATH = lazy_regex(r"['\"\u2018`]?(/[^\s:'\"\u2019,;)]{1,400})")
_MIN_FREE_DISK_BYTES = 256 * 1024


def full(complaint: Complaint, failure: Failure) -> str | None:
    quota = _QUOTA.search(complaint.line)
    if not quota and not _SPACE.search(complaint.line):
        return None
    if _WATCHES.search(complaint.line):
        most = _number("/proc/sys/fs/inotify/max_user_watches")
        return (
            f"This user may watch {most:,} files (fs.inotify.max_user_watches), and all are in use." if most else None
        )
    named = [match[1] for match in _PATH.finditer(complaint.line)]
    more = (
        *failure.directories,
        failure.env.get("TMPDIR", ""),
        "/tmp",
        "/dev/shm",
        "/var/tmp",
        failure.env.get("HOME", ""),
    )
    for path in filter(None, (*named, *more)):
        where = path
        while not os.path.exists(where):
            where = os.path.dirname(where)
        there = os.statvfs(where)
        mount = _mount(where)
        if quota:
            free = describe_size(there.f_bavail * there.f_frsize)
            return f"This user's quota on {quote_text(mount)} is used up, although {free} of the file system are free."
        if there.f_blocks and there.f_bavail * there.f_frsize < _MIN_FREE_DISK_BYTES:
            return f"The file system at {quote_text(mount)} ({describe_size(there.f_blocks * there.f_frsize)}) is full."
        if there.f_files and not there.f_favail:
            return f"The file system at {quote_text(mount)} has no inodes left: it holds too many files."
    return None


def _mount(path: str) -> str:
    path = os.path.realpath(path)
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


def memory(complaint: Complaint, failure: Failure) -> str | None:
    """Return how much memory the machine has; the limits that nacre sets are explained by `conclude`."""
    if failure.confined or not _MEMORY.search(complaint.line):
        return None
    known: dict[str, int] = {}
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            name, _, rest = line.partition(":")
            if name in ("MemTotal", "MemAvailable"):
                known[name] = int(rest.split()[0]) * 1024
    limit = _number("/sys/fs/cgroup/memory.max")
    most = min(known["MemTotal"], limit) if limit else known["MemTotal"]
    free = min(most, known["MemAvailable"])
    if free > most // 4:
        return (
            f"It ran out of memory, although {describe_size(free)} are free: it requested too much, or has a limit "
            "(`ulimit -v`)."
        )
    return f"It ran out of memory: this machine has {describe_size(most)}, of which {describe_size(free)} are free now."


def _number(path: str) -> int:
    """Return the number in a file; 0 if there is none."""
    try:
        with open(path, encoding="ascii") as file:
            text = file.read(32).strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0


def unreachable(complaint: Complaint, failure: Failure) -> str | None:
    if failure.confined or not _UNRESOLVED.search(complaint.line) or _has_route():
        return None
    return "This machine has no network: there is no default route. Work with what is here."


def _has_route() -> bool:
    """Return true if there is a default route, or if that cannot be read."""
    try:
        with open("/proc/net/route", encoding="ascii") as table:
            four = any(line.split()[1:2] == ["00000000"] for line in table)
        with open("/proc/net/ipv6_route", encoding="ascii") as table:
            rows = [line.split() for line in table]
    except OSError:
        return True
    return four or any(row[:2] == ["0" * 32, "00"] and row[-1] != "lo" for row in rows)


PROVIDERS = (full, memory, unreachable)
