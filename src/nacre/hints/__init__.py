"""Return one line of help for a failed command, from its last output and the state of this system.

A complaint is recognised by its words, and a hint states only facts that were checked: the suggested name is on the
PATH, the path exists, the port is in use. Look-ups are bounded in time and number, and none ever raises. Output and
files are untrusted text: only what looks like a name or a path is quoted from them.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from nacre.base.lazy_regex import lazy_regex
from nacre.hints.failure import TOTAL_CPU_S, Complaint, CpuBudget, Failure
from nacre.result import Captured
from nacre.types import Plan

__all__ = ["Failure", "hints", "hints_async", "hints_for"]

_MAX_HINTS = 2
_LINES = 40
"""Number of last lines of the output that are examined."""
_MAX_LINE_CHARS = 600
"""Maximum length of a line, in characters. A longer line is skipped, not cut: half a secret at its end would not be
masked."""
_MAX_COMPLAINTS = 8
_SEARCHED_END_BYTES = 16 * 1024
"""Bytes at the end of the output that are searched."""
TIMEOUT_S = 0.5
"""Seconds. A file system that does not respond blocks only the thread of the look-up."""
_BUSY_FACTOR = 20
"""Maximum number of such periods on a machine that is short of CPU time."""
_IDLE_SHARE = 0.05
"""A thread that was running or runnable for less of the time is waiting for something else; it may also be for the
GIL."""
_SEQUENCE = lazy_regex(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_COMPLAINT_PATTERN = lazy_regex(
    r"(?i)not found|no such file|did not match|not exist|denied|in use|no space|quota|\beof|password|terminal|prompt|"
    r"missing script|no rule to make|message|externally|no module|repository|resolve|memory|can't open|cannot find|"
    r"EADDRINUSE|ENOENT|ENOSPC|EDQUOT|EACCES|interpreter|cannot execute|exec format|not a tty|host key|"
    r"already allocated|read username|watchers"
)
Provider: TypeAlias = Callable[[Complaint, Failure], "str | None"]


@cache
def providers() -> tuple[Provider, ...]:
    """Return the look-up functions. They are imported on the first complaint that one of them may know."""
    from nacre.hints import commands, files, interactive, ports, projects, resources

    return (
        *commands.PROVIDERS,
        *files.PROVIDERS,
        *ports.PROVIDERS,
        *resources.PROVIDERS,
        *interactive.PROVIDERS,
        *projects.PROVIDERS,
    )


def hints(failure: Failure) -> list[str]:
    """Return at most `_MAX_HINTS` hints, for the last complaint first."""
    found: dict[str, None] = {}
    known = providers()
    clock = CpuBudget(TOTAL_CPU_S)
    for complaint in _find_complaints(failure):
        for look in known:
            if len(found) >= _MAX_HINTS or clock.expired:
                break
            with contextlib.suppress(Exception):  # a hint that fails must not cost the result
                if hint := look(complaint, failure):
                    found[hint] = None
                    break
    return list(found)


async def hints_async(failure: Failure) -> list[str]:
    """Return the same as `hints` without blocking the event loop. Start no thread unless there is a known complaint."""
    if not _find_complaints(failure):
        return []
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def tell(found: list[str]) -> None:
        if not answer.done():
            answer.set_result(found)

    def work() -> None:
        found: list[str] = []
        with contextlib.suppress(Exception):  # out of file descriptors to import the look-ups
            found = hints(failure)
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits any more
            loop.call_soon_threadsafe(tell, found)

    thread = threading.Thread(target=work, name="nacre-hints", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # out of threads
        return []
    spent = 0.0
    for _ in range(_BUSY_FACTOR):
        if (await asyncio.wait([answer], timeout=TIMEOUT_S))[0]:
            return answer.result()
        before, spent = spent, _cpu_seconds(thread)
        if thread.is_alive() and spent - before < _IDLE_SHARE * TIMEOUT_S:
            break
    return []


def _cpu_seconds(thread: threading.Thread) -> float:
    """Return the seconds for which the thread ran or was runnable. Linux only; 0.0 if unknown."""
    try:
        with open(f"/proc/self/task/{thread.native_id}/schedstat", "rb") as file:
            ran, waited, _ = file.read().split()
            return (int(ran) + int(waited)) / 1e9
    except (OSError, ValueError):
        return 0.0


async def hints_for(plan: Plan, output: Captured) -> list[str]:
    """Return hints for a plan that was run."""
    whole = output.tail if output.dropped_bytes else output.head + output.tail
    end = whole[-_SEARCHED_END_BYTES:]
    if output.dropped_bytes or len(whole) > _SEARCHED_END_BYTES:
        end = end[end.find(b"\n") + 1 :]  # do not start in the middle of a line or a secret
    return await hints_async(
        Failure(
            command=plan.text.decode("utf-8", "replace"),
            cwd=plan.cwd,
            text=end.decode("utf-8", "replace"),
            env=plan.env,
            stdin=plan.stdin is not None,
            confined=plan.sandbox_request is not None,
            blind=plan.sandbox_request is not None and bool(plan.sandbox_request.hidden),
            store=plan.task.directory,
        )
    )


def _find_complaints(failure: Failure) -> list[Complaint]:
    lines = [
        _SEQUENCE.sub("", line).rstrip() if len(line) <= _MAX_LINE_CHARS else ""
        for line in failure.text.splitlines()[-_LINES:]
    ]
    found: dict[str, Complaint] = {}
    for n, line in reversed(list(enumerate(lines))):
        if _COMPLAINT_PATTERN.search(line):
            found.setdefault(line, Complaint(line, tuple(lines[max(0, n - 8) : n])))
    return list(found.values())[:_MAX_COMPLAINTS]
