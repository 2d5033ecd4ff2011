"""Read `/proc`: processes started by a probe, descendants of a process, memory of processes."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path


def alive(mark: str) -> list[int]:
    """Return processes with `mark` as an argument of its own: the sleep commands of a probe, but not the shell whose
    argument contains the whole script."""
    found = [pid for pid in pids() if mark.encode() in _read(pid, "cmdline").split(b"\0")]
    return [pid for pid in found if _stat(pid)[:1] not in ([], ["Z"], ["X"])]


def count_left(mark: str, within: float = 0) -> int:
    """Return how many of them exist, once all are gone or the time is up."""
    end = time.monotonic() + within
    while (count := len(alive(mark))) and time.monotonic() < end:
        time.sleep(0.01)
    return count


def descendants(ancestor: int) -> list[int]:
    """Return living descendants, children first."""
    parents = {pid: int(stat[1]) for pid in pids() if (stat := _stat(pid)) and stat[0] not in "ZX"}
    found, generation = list[int](), {ancestor}
    while generation := {pid for pid, parent in parents.items() if parent in generation and pid not in found}:
        found += sorted(generation)
    return found


def resident(group: list[int]) -> int:
    """Return the sum of their resident memory, in bytes."""
    return sum(int(fields[1]) for pid in group if (fields := _read(pid, "statm").split())) * os.sysconf("SC_PAGE_SIZE")


def peak(pid: int) -> int:
    """Return the peak resident memory since `reset_peak`, in bytes."""
    fields = dict(line.split(b":", 1) for line in _read(pid, "status").splitlines())
    return int(fields.get(b"VmHWM", b"0 kB").split()[0]) * 1024


def reset_peak(pid: int) -> None:
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(pid: int) -> list[str]:
    """Return state, PPID, …; empty if there is no such process."""
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it has exited, or belongs to another user
