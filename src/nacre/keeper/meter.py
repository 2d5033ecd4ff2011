"""What a run costs, counted over all its processes, and which of its limits that exceeds.

By /proc. Memory is what is resident; where processes share much of it (forks, a database), adding up would count it
again and again, so before a run is ended for it, the kernel is asked for each one's share. Files that exist only in
memory (`memfd_create`) count too: whoever writes to one need not have it mapped.
"""

from __future__ import annotations

import os

from nacre.keeper.processes import read

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_memory_device: int | None = None


def exceeded(watched: Iterable[tuple[bytes, float]], pids: Iterable[int], spent: float) -> bytes:
    """The limit that is exceeded, and by what: `memory 536870912 612368384.0`; nothing if none is.

    `spent` are the seconds of computing of processes that have ended.
    """
    figures = {pid: figure for pid in pids if (figure := _figures(pid)) is not None}
    for name, limit in watched:
        if name == b"processes":
            used: float = len(figures)
        elif name == b"cpu":
            used = spent + sum(seconds for seconds, _ in figures.values())
        else:
            files = _memory_files(figures)
            used = files + sum(resident for _, resident in figures.values())
            if used > limit:
                used = files + sum(_share(pid, resident) for pid, (_, resident) in figures.items())
        if used > limit:
            return b"%b %r %.1f" % (name, limit, used)
    return b""


def _figures(pid: int) -> tuple[float, int] | None:
    """Seconds of computing, its waited-for children included, and resident bytes."""
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 22:
        return None
    return sum(map(int, fields[11:15])) / _TICKS, int(fields[21]) * _PAGE


def _memory_files(pids: Iterable[int]) -> int:
    """Bytes in files that exist only in memory, each once, however many processes have it open."""
    sizes: dict[int, int] = {}
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for name in names:
            try:
                status = os.stat(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if status.st_dev == _device() and not status.st_nlink:
                sizes[status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())


def _device() -> int:
    """Where the kernel keeps such files."""
    global _memory_device
    if _memory_device is None:
        fd = os.memfd_create("nacre", os.MFD_CLOEXEC)
        _memory_device = os.fstat(fd).st_dev
        os.close(fd)
    return _memory_device


def _share(pid: int, resident: int) -> int:
    """Its share of what it has in memory; all of it where the kernel will not tell."""
    for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return resident
