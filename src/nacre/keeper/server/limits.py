"""Kill runs that exceed a limit on resources: measure their usage repeatedly.

As long as there is such a run, the keeper has real-time priority: a thousand runnable processes would leave it a
thousandth of the machine. Only root may set that. Runs of other users are bounded by the kernel's limit on processes,
which does not bind root. No command inherits the priority.
"""

from __future__ import annotations

import os
import time

from nacre.keeper.protocol.ending import EndKind, EndReason
from nacre.keeper.protocol.signals import stop_processes
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.run import Run

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

_USAGE_POLL_S = 0.05
"""Seconds between two measurements of a run's resource usage."""
_UNREPORTED_USAGE_POLL_S = 0.01
"""Seconds between two measurements of a run with CPU time that the kernel reports to no process."""
_MEMORY_RECHECK_S = 0.005
"""Seconds until a measurement of too much memory is repeated: by then, a fork has surely execed its program."""
_RESET_ON_FORK = 0x40000000


class LimitWatcher:
    """The runs whose resource usage is measured."""

    __slots__ = ("_loop", "_memory_suspects", "_tags", "_terminate")

    def __init__(self, loop: EventLoop, terminate: Callable[[Run, EndReason], None]) -> None:
        self._loop = loop
        self._terminate = terminate
        self._tags: set[int] = set()
        self._memory_suspects: set[int] = set()
        """Tags of runs whose last measurement exceeded the memory limit, to be confirmed by the next."""

    @property
    def has_runs(self) -> bool:
        return bool(self._tags)

    def watch(self, run: Run, limits: list[tuple[bytes, float]]) -> None:
        """Kill the run once it exceeds one of the limits."""
        self._tags.add(run.tag)
        _set_realtime(True)
        self._loop.call_at(run.started_at + _USAGE_POLL_S, run.tag, lambda: self._measure(run, limits))

    def forget(self, run: Run) -> None:
        if run.tag in self._tags:
            self._tags.discard(run.tag)
            self._memory_suspects.discard(run.tag)
            _set_realtime(self.has_runs)

    def _measure(self, run: Run, limits: list[tuple[bytes, float]]) -> None:
        """Kill the run if it exceeds a limit, else measure again later: the longer measuring takes, the less often."""
        if run.ladder.has_started:
            return
        began = time.thread_time()
        run.processes.adopt()
        members = run.processes.members(next((int(limit) for name, limit in limits if name == b"processes"), None))
        over = run.meter.find_exceeded_limit(limits, members)
        if over is not None and over.name == "memory" and run.tag not in self._memory_suspects:
            self._memory_suspects.add(run.tag)  # while processes fork, the same memory may be counted twice
            self._loop.call_at(time.monotonic() + _MEMORY_RECHECK_S, run.tag, lambda: self._measure(run, limits))
            return
        self._memory_suspects.discard(run.tag)
        if over is not None:
            stop_processes(members)  # before anything else is read: they may leave the keeper almost no CPU time
            self._terminate(run, EndReason(EndKind.LIMIT, limit=over))
        else:
            least = _UNREPORTED_USAGE_POLL_S if run.meter.loses_time else _USAGE_POLL_S
            pause = max(least, 10 * (time.thread_time() - began))
            self._loop.call_at(time.monotonic() + pause, run.tag, lambda: self._measure(run, limits))


def _set_realtime(wanted: bool) -> None:
    """Run before all ordinary processes, or like any of them."""
    try:
        kind = os.SCHED_FIFO if wanted else os.SCHED_OTHER
        os.sched_setscheduler(0, kind | _RESET_ON_FORK, os.sched_param(1 if wanted else 0))
    except (AttributeError, OSError):
        pass
