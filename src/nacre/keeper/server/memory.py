"""Measure the memory of a run.

Counted are resident pages, page tables, swapped-out pages, and files that exist only in memory (`memfd_create`), which
need not be mapped by any process. Where processes share much memory (forks, a database), a sum would count it
repeatedly; so before a run counts as over its limit, the kernel's proportional share (PSS) of each process is read.

A file in memory can also be in transit between processes, in a socket (SCM_RIGHTS): then no process has it open. While
descriptors of the run are in transit, the same number of files that it had open and has no longer stay counted, with
their last size; if fewer such files are known, the others are assumed to be like those.
"""

from __future__ import annotations

import errno
import os

from nacre.base.system import LINUX
from nacre.keeper.protocol.procfs import read_proc_file

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Iterable

    from nacre.keeper.protocol.procfs import ProcessInfo

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_VSIZE, _RSS = 20, 21
_TABLE_SHARE = 512
"""Bytes mapped per byte of page tables, at least."""
_SMALL_SHARE = 16
"""Page tables are read if they may exceed this fraction of the limit: one sixteenth."""
_NO_DEVICE = -1
_memory_device: int | None = None


class Memory:
    """The memory of one run over several measurements."""

    __slots__ = ("_files",)

    def __init__(self) -> None:
        self._files: dict[int, int] = {}
        """Sizes of files in memory by inode: open ones, and those that may be in transit."""

    def measure(self, limit: float, members: dict[int, ProcessInfo]) -> float:
        """Return the bytes in use. Shared memory is counted only once if the plain sum exceeds `limit`."""
        files = self._count_files(members)
        resident = {pid: int(seen.fields[_RSS]) * _PAGE_BYTES for pid, seen in members.items()}
        mapped = sum(int(seen.fields[_VSIZE]) for seen in members.values())
        beside = 0
        if mapped / _TABLE_SHARE > limit / _SMALL_SHARE or _swap_is_used():
            beside = sum(map(_nonresident_bytes, members))
        used = files + beside + sum(resident.values())
        if used > limit:
            used = files + beside + sum(_proportional_memory(pid, size) for pid, size in resident.items())
        return used

    def _count_files(self, pids: Iterable[int]) -> int:
        """Return the bytes of files in memory, each counted once however many processes have it open."""
        open_now: dict[int, int] = {}
        sockets: dict[str, str] = {}
        for pid in pids:
            try:
                names = os.listdir(f"/proc/{pid}/fd")
            except OSError:
                continue
            for name in names:
                try:
                    target = os.readlink(f"/proc/{pid}/fd/{name}")
                    if target.startswith("socket:"):
                        sockets[target] = f"/proc/{pid}/fdinfo/{name}"
                    elif target.startswith("/memfd:"):  # `stat` of other files may block for ever (FUSE)
                        status = os.stat(f"/proc/{pid}/fd/{name}")
                        if status.st_dev == _device() and not status.st_nlink:
                            open_now[status.st_ino] = status.st_blocks * 512
                except OSError:
                    continue
        used = sum(open_now.values())
        missing = {inode: size for inode, size in self._files.items() if inode not in open_now}
        if missing and (sent := sum(map(_count_descriptors, sockets.values()))):
            kept = sorted(missing, key=missing.__getitem__)[-sent:]  # at most as many as are in transit
            used += sum(missing[inode] for inode in kept) * sent // len(kept)
            open_now |= {inode: missing[inode] for inode in kept}
        self._files = open_now
        return used


def oom_kills() -> int:
    """Return the number of processes that the kernel's OOM killer has killed since boot, on the whole machine."""
    found = read_proc_file("/proc/vmstat").partition(b"\noom_kill ")[2].split(None, 1) if LINUX else []
    return int(found[0]) if found else 0


def _count_descriptors(path: str) -> int:
    """Count the descriptors in a socket that were not received yet. Kernels before 5.10 do not show them."""
    count = read_proc_file(path).partition(b"scm_fds:")[2].split(None, 1)
    return int(count[0]) if count else 0


def _device() -> int:
    """Return the device on which the kernel keeps memfds."""
    global _memory_device
    if _memory_device is None:
        try:
            fd = os.memfd_create("nacre", os.MFD_CLOEXEC)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS):
                raise
            _memory_device = _NO_DEVICE  # denied by a seccomp filter, to commands as well: there are no such files
            return _memory_device
        _memory_device = os.fstat(fd).st_dev
        os.close(fd)
    return _memory_device


def _swap_is_used() -> bool:
    """Return whether anything on the machine is swapped out."""
    rows = read_proc_file("/proc/swaps").splitlines()[1:]
    return any(len(fields) > 3 and fields[3] != b"0" for fields in map(bytes.split, rows))


def _nonresident_bytes(pid: int) -> int:
    """Return the bytes of a process that are not resident: page tables, and swapped-out pages."""
    lines = (line.split() for line in read_proc_file(f"/proc/{pid}/status").splitlines())
    return sum(int(words[1]) * 1024 for words in lines if words and words[0] in (b"VmPTE:", b"VmSwap:"))


def _proportional_memory(pid: int, resident: int) -> int:
    """Return the proportional share of its resident memory; all of it where the kernel does not show it."""
    for line in read_proc_file(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return resident
