"""Count the memory of a run.

Resident pages, page tables, what is swapped out, and files that exist only in memory (`memfd_create`), which need not
be mapped by anybody. Where processes share much (forks, a database), adding up would count it again and again, so
before a run is over its limit the kernel is asked for each one's share.

A file in memory can also be on its way from one process to another, in a socket (SCM_RIGHTS): then nobody has it open.
While the run has descriptors on their way, as many files that it had open and has no more stay counted, at their last
size; if fewer such files are known, the others are taken to be like those.
"""

from __future__ import annotations

import errno
import os

from nacre.keeper.protocol.procfs import read_proc_file

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Iterable

    from nacre.keeper.protocol.procfs import ProcessInfo

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_VSIZE, _RSS = 20, 21
_TABLE_SHARE = 512
"""Bytes mapped for each byte of page tables, at least."""
_SMALL_SHARE = 16
"""Page tables are looked up where they may be more than this part of the limit."""
_NO_DEVICE = -1
_memory_device: int | None = None


class Memory:
    __slots__ = ("_files",)

    def __init__(self) -> None:
        self._files: dict[int, int] = {}
        """Sizes of files in memory by inode: open ones, and those that may be on their way."""

    def measure(self, limit: float, members: dict[int, ProcessInfo]) -> float:
        """Bytes."""
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
        """Each once, however many processes have it open."""
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
                    elif target.startswith("/memfd:"):  # to ask others of their size may take for ever (FUSE)
                        status = os.stat(f"/proc/{pid}/fd/{name}")
                        if status.st_dev == _device() and not status.st_nlink:
                            open_now[status.st_ino] = status.st_blocks * 512
                except OSError:
                    continue
        used = sum(open_now.values())
        missing = {inode: size for inode, size in self._files.items() if inode not in open_now}
        if missing and (sent := sum(map(_count_descriptors, sockets.values()))):
            kept = sorted(missing, key=missing.__getitem__)[-sent:]  # no more of them than are on their way
            used += sum(missing[inode] for inode in kept) * sent // len(kept)
            open_now |= {inode: missing[inode] for inode in kept}
        self._files = open_now
        return used


def _count_descriptors(path: str) -> int:
    """Those in a socket that nobody has received yet. Kernels before 5.10 do not tell."""
    count = read_proc_file(path).partition(b"scm_fds:")[2].split(None, 1)
    return int(count[0]) if count else 0


def _device() -> int:
    """The device on which the kernel keeps files without a name."""
    global _memory_device
    if _memory_device is None:
        try:
            fd = os.memfd_create("nacre", os.MFD_CLOEXEC)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS):
                raise
            _memory_device = _NO_DEVICE  # denied by a filter, to commands as well: there are no such files
            return _memory_device
        _memory_device = os.fstat(fd).st_dev
        os.close(fd)
    return _memory_device


def _swap_is_used() -> bool:
    """Whether the machine has anything swapped out."""
    rows = read_proc_file("/proc/swaps").splitlines()[1:]
    return any(len(fields) > 3 and fields[3] != b"0" for fields in map(bytes.split, rows))


def _nonresident_bytes(pid: int) -> int:
    """Bytes that are not resident: its page tables, and what is swapped out."""
    lines = (line.split() for line in read_proc_file(f"/proc/{pid}/status").splitlines())
    return sum(int(words[1]) * 1024 for words in lines if words and words[0] in (b"VmPTE:", b"VmSwap:"))


def _proportional_memory(pid: int, resident: int) -> int:
    """Its share of what it has in memory; all of it where the kernel will not tell."""
    for line in read_proc_file(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return resident
