"""Processes, as `/proc` tells them: which ones a probe has started, who descends from whom, what they hold."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path


def alive(mark: str) -> list[int]:
    """Processes with `mark` as one of their arguments: the sleepers of a probe, and not the shell that has the text of
    the whole command in its argument list."""
    found = [pid for pid in pids() if mark.encode() in _read(pid, "cmdline").split(b"\0")]
    return [pid for pid in found if _stat(pid)[:1] not in ([], ["Z"], ["X"])]


def count_left(mark: str, within: float = 0) -> int:
    """How many of them there are, when all are gone or the time is up."""
    end = time.monotonic() + within
    while (count := len(alive(mark))) and time.monotonic() < end:
        time.sleep(0.01)
    return count


def descendants(ancestor: int) -> list[int]:
    """The living ones, children first."""
    parents = {pid: int(stat[1]) for pid in pids() if (stat := _stat(pid)) and stat[0] not in "ZX"}
    found, generation = list[int](), {ancestor}
    while generation := {pid for pid, parent in parents.items() if parent in generation and pid not in found}:
        found += sorted(generation)
    return found


def resident(group: list[int]) -> int:
    """Bytes that they hold in memory, added up."""
    return sum(int(fields[1]) for pid in group if (fields := _read(pid, "statm").split())) * os.sysconf("SC_PAGE_SIZE")


def peak(pid: int) -> int:
    """Bytes that it held at most, since `reset_peak`."""
    fields = dict(line.split(b":", 1) for line in _read(pid, "status").splitlines())
    return int(fields.get(b"VmHWM", b"0 kB").split()[0]) * 1024


def reset_peak(pid: int) -> None:
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(pid: int) -> list[str]:
    """State, parent, …; empty when there is no such process."""
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # gone, or another user's
