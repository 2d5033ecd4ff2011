"""One line of help for a command that failed: its last words in, what this system knows about them out.

A complaint is recognised by its words, and nothing is said that was not seen to be so: the name that is meant is on
the PATH, the path exists, the port is held. What a look-up may cost is bounded in time and number, and none ever
raises. Output and files are anybody's text: of them, only what looks like a name or a path comes back, in quotes.
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
"""The last ones are looked at."""
_MAX_LINE_CHARS = 600
"""Characters of a line; a longer one is not cut but left alone: half a secret at its end would not be masked."""
_MAX_COMPLAINTS = 8
_SEARCHED_END_BYTES = 16 * 1024
"""Bytes of the output."""
TIMEOUT_S = 0.5
"""Seconds. A file system that does not answer keeps a thread waiting, and nobody else."""
_BUSY_FACTOR = 20
"""So many times as long for work on a machine that has no time for it."""
_IDLE_SHARE = 0.05
"""Who has worked for less of the time waits for something else: for this interpreter, too, a thread may wait."""
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
    """Loaded when something is complained of that one of them may know."""
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
    """At most a few, the last complaint first."""
    found: dict[str, None] = {}
    known = providers()
    clock = CpuBudget(TOTAL_CPU_S)
    for complaint in _find_complaints(failure):
        for look in known:
            if len(found) >= _MAX_HINTS or clock.expired:
                break
            with contextlib.suppress(Exception):  # what was to help must not harm
                if hint := look(complaint, failure):
                    found[hint] = None
                    break
    return list(found)


async def hints_async(failure: Failure) -> list[str]:
    """The same, while the event loop goes on; no thread is started for what complains of nothing known."""
    if not _find_complaints(failure):
        return []
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def tell(found: list[str]) -> None:
        if not answer.done():
            answer.set_result(found)

    def work() -> None:
        found: list[str] = []
        with contextlib.suppress(Exception):  # no descriptor left to load them with
            found = hints(failure)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, found)

    thread = threading.Thread(target=work, name="nacre-hints", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread can be had
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
    """Seconds for which it has had a processor, or waited for nothing but one. Only Linux can tell."""
    try:
        with open(f"/proc/self/task/{thread.native_id}/schedstat", "rb") as file:
            ran, waited, _ = file.read().split()
            return (int(ran) + int(waited)) / 1e9
    except (OSError, ValueError):
        return 0.0


async def hints_for(plan: Plan, output: Captured) -> list[str]:
    """For what a plan has become."""
    whole = output.tail if output.dropped_bytes else output.head + output.tail
    end = whole[-_SEARCHED_END_BYTES:]
    if output.dropped_bytes or len(whole) > _SEARCHED_END_BYTES:
        end = end[end.find(b"\n") + 1 :]  # not from the middle of a line, nor of a secret
    return await hints_async(
        Failure(
            command=plan.text.decode("utf-8", "replace"),
            cwd=plan.cwd,
            text=end.decode("utf-8", "replace"),
            env=plan.env,
            stdin=plan.stdin is not None,
            confined=plan.sandbox_request is not None,
            blind=plan.sandbox_request is not None and bool(plan.sandbox_request.hidden),
            store=plan.task_dir,
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
