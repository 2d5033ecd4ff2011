"""Killing tasks. Their keeper does it; if the keeper is dead, the processes are found by their tag and killed from
here.

A PID alone is never enough, because it may have been reused. A process is signalled through a pidfd that was opened
before the process was identified.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import time
from collections.abc import Collection

from nacre.base.frozen import replace
from nacre.base.system import LINUX
from nacre.errors import InvalidRequest
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.proc_check import proc_problem
from nacre.keeper.protocol.procfs import ProcessInfo, tag_in
from nacre.keeper.protocol.task_dir import PROCESS
from nacre.result import Process
from nacre.tasks.handle import TaskHandle
from nacre.tasks.store.control_client import ControlConnection
from nacre.tasks.store.directory import InvalidTaskDirectory
from nacre.tasks.store.records import ProcessFile, parse_process_file
from nacre.tasks.store.status import same_boot
from nacre.tasks.store.task import Task

_KEEPER_MARGIN_S = 15.0
"""Seconds beyond the grace in which a keeper that can kill the task has killed it."""
_UNKILLABLE_AFTER_S = 5.0
"""Seconds after SIGKILL; a process that is still alive then cannot be killed."""
_MIN_POLL_S, _MAX_POLL_S = 0.01, 0.2
_MAX_GRACE_S = 3600.0
_MAX_PIDFDS = 100
"""Bound on pidfds open at a time."""
_LOWEST_TAG = 1 << 22
"""Smallest valid tag. A lower RLIMIT_LOCKS is an ordinary limit, which any process of the user may have."""
_KEEPERS = ("nacre-keeper", "nacre-task")
"""Process names (comm) that keepers set for themselves."""


def signal_number(value: int | str) -> int:
    """Return a signal's number from `TERM`, `SIGTERM`, `15` or 15. InvalidRequest: unknown signal."""
    number: object = value
    if isinstance(value, str):
        name = value.strip().upper()
        number = int(name) if name.isascii() and name.isdigit() and len(name) < 4 else None
        if number is None:
            known = getattr(signal, name if name.startswith("SIG") else f"SIG{name}", None)
            number = int(known) if isinstance(known, signal.Signals) else None
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number < signal.NSIG:
        return number
    raise InvalidRequest(
        "bad_signal",
        f"`signal` is {value!r}.",
        field="signal",
        hint="Use a name (TERM, INT, KILL) or its number.",
    )


def checked_grace(grace: float) -> float:
    """Return the grace as a float. InvalidRequest: not between 0 and 3600 seconds."""
    if isinstance(grace, bool) or not isinstance(grace, int | float) or not 0 <= grace <= _MAX_GRACE_S:
        raise InvalidRequest(
            "bad_grace", f"`grace` is {grace!r}.", field="grace", hint=f"Give seconds, from 0 to {_MAX_GRACE_S:g}."
        )
    return float(grace)


async def kill(place: TaskHandle, number: int, grace: float) -> Task:
    """Send the signal, and SIGKILL after `grace` seconds. Return the task once it has ended, or once waiting has timed
    out.

    The keeper does it; the processes of a lost task are killed from here. InvalidRequest: /proc is needed for that and
    unusable.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace + _KEEPER_MARGIN_S):
            pause = _MIN_POLL_S
            begun = process_file_of(place)
            _wake(begun)
            while place.read().alive:
                if (line := place.connect(to_wait=False)) is not None:
                    with line:
                        _wake_listener(begun, line)
                        if await line.kill(number, grace):
                            await place.wait_until_ended()
                            break
                await asyncio.sleep(pause)
                pause = min(_MAX_POLL_S, pause * 2)
    task = place.read()
    return await _kill_remaining(place, task, number, grace) if task.state == "lost" else task


def _wake(begun: ProcessFile | None) -> None:
    """Send SIGCONT to the task's keeper, which another process may have stopped."""
    known = begun is not None and begun.keeper > 1 and begun.keeper_start and same_boot(begun.boot)
    if proc_problem():
        return  # /proc is missing, or another PID namespace's: the PID may be another process's
    if begun is not None and known and procfs.start_time(begun.keeper) == begun.keeper_start:
        seen = procfs.read_process(begun.keeper)
        if seen is None or seen.command not in _KEEPERS:
            return
        with contextlib.suppress(OSError):
            os.kill(begun.keeper, signal.SIGCONT)


def _wake_listener(begun: ProcessFile | None, line: ControlConnection) -> None:
    """Send SIGCONT to the keeper where /proc hides it from its own user (hidepid=2): while it listens, its PID is not
    reused."""
    if begun is not None and begun.keeper > 1 and line.listener() == begun.keeper:
        with contextlib.suppress(OSError):
            os.kill(begun.keeper, signal.SIGCONT)


async def _kill_remaining(place: TaskHandle, task: Task, number: int, grace: float) -> Task:
    """Kill what is left of a lost task. Return the task with the processes that survive in `running`."""
    begun = process_file_of(place)
    if begun is None or not same_boot(begun.boot):
        return task
    if problem := proc_problem():
        raise InvalidRequest(
            "no_proc",
            "The task's keeper is dead, and its processes cannot be found here.",
            field="task",
            hint=problem,
        )
    kill_at = time.monotonic() + grace
    give_up = kill_at + _UNKILLABLE_AFTER_S
    told: set[int] = set()
    known: dict[int, int] = {}
    pause = _MIN_POLL_S
    while left := surviving_processes(begun, known):
        now = time.monotonic()
        if now > give_up:
            break
        killing = now >= kill_at or number == signal.SIGKILL
        fresh = left.keys() - (set() if killing else told)
        told |= _signal(fresh, begun, known, signal.SIGKILL if killing else number)
        await asyncio.sleep(pause)
        pause = min(_MAX_POLL_S, pause * 1.5)
    rest = [Process(seen.pid, seen.pgid, procfs.command_line(seen)) for seen in left.values()]
    return replace(task, running=tuple(rest))


def process_file_of(place: TaskHandle) -> ProcessFile | None:
    """Read process.json; None if it is missing or invalid."""
    with contextlib.suppress(OSError, InvalidTaskDirectory), place.open_directory() as folder:
        data = folder.json(PROCESS)
        return None if data is None else parse_process_file(data)
    return None


def surviving_processes(begun: ProcessFile, known: dict[int, int] | None = None) -> dict[int, ProcessInfo]:
    """Return the live processes of a task whose keeper is dead, by PID, except this process.

    `known` maps the PIDs found by earlier calls to their start times, and is extended: a process group cannot be
    identified by a leader that is dead.
    """
    if not same_boot(begun.boot):
        return {}
    known = {} if known is None else known
    if LINUX:
        found = procfs.find_by_tag(begun.tag, begun.tag) if begun.tag >= _LOWEST_TAG else {}
        if (first := _first_process(begun)) is not None:
            found |= procfs.descendants({first.pid, *(_group(first.pgid) if first.pgid == begun.pgid else ())})
        found |= procfs.descendants({pid for pid, start in known.items() if procfs.start_time(pid) == start})
        known.update({pid: start for pid in found.keys() - known.keys() if (start := procfs.start_time(pid))})
    else:
        rows = [seen for seen in procfs.ps_processes() if seen.is_alive and begun.tag]
        found = {seen.pid: seen for seen in rows if tag_in(seen.command) == begun.tag}
    found.pop(os.getpid(), None)
    return found


def _group(pgid: int) -> list[int]:
    if pgid <= 1:
        return []
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in numbers if (seen := procfs.read_process(pid)) is not None and seen.pgid == pgid]


def _first_process(begun: ProcessFile) -> ProcessInfo | None:
    """Return the task's first process, if it is alive. Its PID and start time come from a file that anybody may have
    written, so the process must also carry the tag or be a fork of nacre's shell that has not executed a program; such
    a shell may have lost its tag."""
    if begun.pid <= 1 or not begun.start or not begun.boot or procfs.start_time(begun.pid) != begun.start:
        return None
    seen = procfs.read_process(begun.pid)
    if seen is None:
        return None
    has_tag = begun.tag >= _LOWEST_TAG and procfs.tag_of(begun.pid) == begun.tag
    return seen if has_tag or procfs.has_not_execed(seen) else None


def _signal(pids: Collection[int], begun: ProcessFile, known: dict[int, int], number: int) -> set[int]:
    """Signal those PIDs that still belong to the task once their pidfds are open, when they can no longer be reused.
    Return them."""
    handles: dict[int, int] = {}
    told: set[int] = set()
    try:
        for pid in itertools.islice(pids, _MAX_PIDFDS):
            with contextlib.suppress(OSError, AttributeError):
                handles[pid] = os.pidfd_open(pid)
        for pid in surviving_processes(begun, known).keys() & pids:
            with contextlib.suppress(OSError):
                if pid in handles or not handles:
                    told.add(pid)
                if pid in handles:
                    signal.pidfd_send_signal(handles[pid], number)
                elif not handles:
                    os.kill(pid, number)  # no pidfds on this system
    finally:
        for handle in handles.values():
            os.close(handle)
    return told
