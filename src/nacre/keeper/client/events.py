"""What can happen to a run, as the host hears of it. Values, and how the keeper's report becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from nacre.result import Process, StreamName, TaskRef


class ShellStarted(NamedTuple):
    pid: int


class OutputChunk(NamedTuple):
    stream: StreamName
    data: bytes


class TaskRunning(NamedTuple):
    """A task has not failed at once."""


class Adopted(NamedTuple):
    """It is a task now, known by this process."""

    pid: int
    pgid: int


class AdoptionFailed(NamedTuple):
    reason: str
    gone: bool = False
    """There is nobody to ask any more: it has ended, or its keeper is dead."""


class StartFailed(NamedTuple):
    errno: int
    """An errno."""
    reason: str
    duration: float = 0.0
    running: tuple[Process, ...] = ()
    killed_leftovers: tuple[Process, ...] = ()
    hint: str = ""
    """The remedy, where the errno does not tell it."""


def parse_start_failed(error: OSError) -> StartFailed:
    """The resource that was lacking."""
    return StartFailed(error.errno or 0, error.strerror or str(error), hint=getattr(error, "hint", ""))


class RunStopped(NamedTuple):
    """The keeper's account of the end."""

    status: int
    reason: bytes
    duration: float
    all_sleeping: bool
    running: tuple[Process, ...]
    killed_leftovers: tuple[Process, ...]
    """What the shell had left running and was ended, as asked."""
    out_of_memory: bool = False
    """It was killed, and the kernel has killed for want of memory meanwhile."""
    notes: tuple[str, ...] = ()
    """What is known of it where it ran, beside."""


class KeeperLost(NamedTuple):
    """The keeper died; what it left of this run has been ended."""

    reason: str
    duration: float
    running: tuple[Process, ...]
    killed_leftovers: tuple[Process, ...] = ()


class Promoted(NamedTuple):
    """It goes on as a task: the last that its caller hears of it."""

    task: TaskRef
    duration: float
    running: tuple[Process, ...] = ()
    killed_leftovers: tuple[Process, ...] = ()


FinalEvent: TypeAlias = StartFailed | RunStopped | KeeperLost | Promoted
AdoptionReply: TypeAlias = TaskRunning | Adopted | AdoptionFailed
RunEvent: TypeAlias = ShellStarted | OutputChunk | AdoptionReply | FinalEvent


def parse_stopped(fields: Sequence[bytes]) -> RunStopped:
    """The fields of an ENDED message."""
    status, reason, duration, flags, *rows = fields
    asleep, out_of_memory = (flag == 49 for flag in flags)
    return RunStopped(
        int(status),
        reason,
        float(duration),
        asleep,
        _processes(rows, b"running"),
        _processes(rows, b"ended"),
        out_of_memory,
    )


def _processes(rows: Sequence[bytes], state: bytes) -> tuple[Process, ...]:
    parts = (row.split(b" ", 3) for row in rows)
    return tuple(
        Process(int(pid), int(pgid), command.decode("utf-8", "replace"))
        for kind, pid, pgid, command in parts
        if kind == state
    )
