"""Hints for "address already in use": which process listens, and whether it is a task of nacre. Linux only."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nacre.base.lazy_regex import lazy_regex
from nacre.hints.failure import Complaint, CpuBudget, Failure, is_name, quote_text

_IN_USE = lazy_regex(
    r"(?i)address (?:is )?already in use|\bEADDRINUSE\b|port (?:\d+ )?is (?:already )?in use|already allocated"
)
_PORT = lazy_regex(
    r"(?i)\bport[ =:]{1,2}(\d{2,5})\b|(?:^|[\s(*\]/]|::|\blocalhost|\.\d{1,3}):(\d{2,5})\b|', (\d{2,5})\)"
)
"""A port as programs print it. A bare number may be a time, a PID or a line number."""
_BARE = lazy_regex(r"(?:(?<=\s-p)|(?<![\w.:/-]))(\d{4,5})(?![\w.-])")
"""Also a port, but only on a command line."""
_LISTENS = "0A"
_FDS = 20_000


def in_use(complaint: Complaint, failure: Failure) -> str | None:
    if not _IN_USE.search(complaint.line):
        return None
    listening = dict(_listening_sockets())
    for port in _ports(complaint, failure):
        if port in listening:
            return _port_hint(port, listening[port], failure)
    return None


def _ports(complaint: Complaint, failure: Failure) -> Iterator[int]:
    command = failure.command[:5000]
    for text, patterns in (
        (complaint.line, (_PORT,)),
        (command, (_PORT, _BARE)),
        *((line, (_PORT,)) for line in reversed(complaint.before)),
    ):
        for pattern in patterns:
            yield from (int(next(filter(None, match.groups()))) for match in pattern.finditer(text))


def _listening_sockets() -> Iterator[tuple[int, str]]:
    """Yield port and socket inode of each listening TCP socket."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as lines:
                for line in lines:
                    fields = line.split()
                    if len(fields) > 9 and fields[3] == _LISTENS:
                        yield int(fields[1].rpartition(":")[2], 16), fields[9]
        except OSError:
            continue


def _port_hint(port: int, inode: str, failure: Failure) -> str:
    pid = _owner(inode)
    task = "" if pid is None else _task_of(pid, failure)
    if pid is None or (failure.confined and not task):
        return f"Port {port} is used by a process that is not visible from here; use another port."
    # Do not show its arguments: those of another user's process may contain anything.
    name = _read(f"/proc/{pid}/comm").decode("utf-8", "replace").strip()
    what = f"task {task}, which you may kill" if task else f"process {pid}"
    return f"Port {port} is used by {what}{f' ({quote_text(name)})' if is_name(name) else ''}."


def _owner(inode: str) -> int | None:
    clock, wanted, seen = CpuBudget(), f"socket:[{inode}]", 0
    for name in sorted((name for name in os.listdir("/proc") if name.isdigit()), key=int, reverse=True):
        try:
            for fd in os.listdir(f"/proc/{name}/fd"):
                seen += 1
                if os.readlink(f"/proc/{name}/fd/{fd}") == wanted:
                    return int(name)
        except OSError:
            continue
        if clock.expired or seen > _FDS:
            break
    return None


def _task_of(pid: int, failure: Failure) -> str:
    from nacre.tasks.store.store import default_directory, live_names

    store = failure.store or default_directory()
    if not live_names(store):
        return ""
    from nacre.tasks.tasks import Tasks

    tasks = [task for task in Tasks(store).list(all=False) if task.alive]
    mine = {task.pid: task.id for task in tasks if task.pid}
    groups = {task.pgid: task.id for task in tasks if task.pgid}
    for _ in range(30):
        if pid in mine:
            return mine[pid]
        fields = _read(f"/proc/{pid}/stat").rpartition(b") ")[2].split()
        if len(fields) < 3:
            return ""
        if (group := int(fields[2])) in groups:
            return groups[group]
        pid = int(fields[1])
        if pid <= 1:
            return ""
    return ""


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4096)
    except OSError:
        return b""


PROVIDERS = (in_use,)
