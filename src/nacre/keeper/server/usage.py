"""Measure the resource usage of a run over all its processes, and find the limit that it exceeds.

By /proc. CPU time: the kernel adds a child's time to its parent's when the parent waits for it, and loses it when no
process does (SIGCHLD is ignored). So each measurement notes the time of every process, and the last known time of a
process that is gone stays counted: with its parent, as far as the parent has not got it from the kernel. Orphans become
children of the keeper, which reaps them and gets all of their time. The sum is never more than the true value.

Memory: see `memory.py`.
"""

from __future__ import annotations

import os

from nacre.base.system import LINUX
from nacre.keeper.protocol.ending import ExceededLimit
from nacre.keeper.protocol.procfs import cpu_seconds, read_process
from nacre.keeper.server.memory import Memory

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Iterable

    from nacre.keeper.protocol.procfs import ProcessInfo

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_UTIME, _STIME, _CUTIME, _CSTIME, _START = 11, 12, 13, 14, 19
_LOST_S = 0.02
"""Seconds of children's time that a parent may miss: more than the kernel's rounding."""


class ProcessUsage:
    """CPU time of one process, in seconds."""

    __slots__ = ("gone", "parent", "start", "total", "waited")

    def __init__(self, start: bytes) -> None:
        self.start = start
        """Start time: distinguishes it from a later process with the same PID."""
        self.parent = 0
        self.waited = 0.0
        """Seconds of children that it has waited for, as the kernel counts them."""
        self.gone = 0.0
        """Seconds of children that are gone, as last seen."""
        self.total = 0.0


class Meter:
    """The resource usage of one run. Call `find_exceeded_limit` repeatedly."""

    __slots__ = ("_accounts", "_keeper", "_memory", "cpu_seconds")

    def __init__(self) -> None:
        self.cpu_seconds = 0.0
        """CPU time in seconds of processes that the keeper has reaped."""
        self._accounts: dict[int, ProcessUsage] = {}
        """By PID, parents before their children."""
        self._keeper = os.getpid()
        self._memory = Memory()

    @property
    def loses_time(self) -> bool:
        """Whether some children are never waited for: their CPU time after the last measurement is lost."""
        return any(account.gone > account.waited + _LOST_S for account in self._accounts.values())

    def reap(self, pid: int, seconds: float) -> None:
        """Add the CPU time of a process that the keeper has reaped, including the children that it had waited for."""
        account = self._accounts.pop(pid, None)
        self.cpu_seconds += seconds if account is None else max(seconds, account.total)

    def find_exceeded_limit(
        self, watched: Iterable[tuple[bytes, float]], members: dict[int, ProcessInfo]
    ) -> ExceededLimit | None:
        """Return the limit that is exceeded, if there is one; the amount used is rounded to one decimal.

        Cheap checks come first: a process storm must be noticed before it starves the keeper.
        """
        limits = dict(watched)
        if not LINUX:  # from `ps`: the details are in /proc, if there is one
            members = {pid: read_process(pid) or seen for pid, seen in members.items()}
        for name in (b"processes", b"threads", b"cpu", b"memory"):
            if name in limits:
                limit = limits[name]
                used = self._measure(name, limit, members)
                if used > limit:
                    return ExceededLimit(name.decode(), limit, round(float(used), 1))
        return None

    def _measure(self, name: bytes, limit: float, members: dict[int, ProcessInfo]) -> float:
        if name == b"processes":
            return len(members)
        members = members if LINUX else {pid: seen for pid, seen in members.items() if seen.fields}
        if name == b"threads":
            return sum(seen.threads for seen in members.values())
        if name == b"cpu":
            return self._cpu_seconds(members)
        return self._memory.measure(limit, members)

    def _cpu_seconds(self, members: dict[int, ProcessInfo]) -> float:
        accounts = self._accounts
        for pid in [*reversed(accounts)]:
            account, seen = accounts[pid], members.get(pid)
            if (seen is None or seen.fields[_START] != account.start) and account.parent != self._keeper:
                del accounts[pid]  # the keeper's own children stay until it reaps them
                if account.parent in accounts:
                    accounts[account.parent].gone += account.total
        for pid, seen in members.items():
            if pid not in accounts or accounts[pid].start != seen.fields[_START]:
                accounts[pid] = ProcessUsage(seen.fields[_START])
            _update(accounts[pid], seen)
        return self.cpu_seconds + sum(account.total for account in accounts.values())


def _update(account: ProcessUsage, seen: ProcessInfo) -> None:
    fields = seen.fields
    account.parent = seen.ppid
    account.waited = (int(fields[_CUTIME]) + int(fields[_CSTIME])) / _TICKS_PER_S
    account.total = max(account.total, _own_time(seen) + max(account.waited, account.gone))


def _own_time(seen: ProcessInfo) -> float:
    """Return the CPU time of its threads in seconds."""
    try:
        return cpu_seconds(seen.pid)
    except OSError:  # gone, or not supported by the kernel: use the last value, in hundredths of a second
        return (int(seen.fields[_UTIME]) + int(seen.fields[_STIME])) / _TICKS_PER_S
