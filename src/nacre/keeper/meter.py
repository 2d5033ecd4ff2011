"""What a run costs, counted over all its processes, and which of its limits that exceeds.

By /proc. Memory is what is resident; where processes share much of it (forks, a database), adding up would count it
again and again, so before a run is ended for it, the kernel is asked for each one's share.
"""

from __future__ import annotations

import os

from nacre.keeper.processes import read

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


def exceeded(watched: Iterable[tuple[bytes, int]], pids: Iterable[int], spent: float) -> bytes:
    """The limit that is exceeded, and by what: `memory 536870912 612368384`; nothing if none is.

    `spent` are the seconds of computing of processes that have ended.
    """
    figures = {pid: figure for pid in pids if (figure := _figures(pid)) is not None}
    for name, limit in watched:
        if name == b"processes":
            used: float = len(figures)
        elif name == b"cpu":
            used = spent + sum(seconds for seconds, _ in figures.values())
        else:
            used = sum(resident for _, resident in figures.values())
            if used > limit:
                used = sum(_share(pid, resident) for pid, (_, resident) in figures.items())
        if used > limit:
            return b"%b %d %d" % (name, limit, used)
    return b""


def _figures(pid: int) -> tuple[float, int] | None:
    """Seconds of computing, its waited-for children included, and resident bytes."""
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 22:
        return None
    return sum(map(int, fields[11:15])) / _TICKS, int(fields[21]) * _PAGE


def _share(pid: int, resident: int) -> int:
    """Its share of what it has in memory; all of it where the kernel will not tell."""
    for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return resident
