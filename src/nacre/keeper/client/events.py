"""Events of a run, as its caller receives them."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from nacre.keeper.protocol.ending import EndReason
from nacre.keeper.protocol.replies import EndedReply
from nacre.result import Outcome, Process, Result, StreamName, TaskRef


class ShellStarted(NamedTuple):
    """The shell was started; its PID."""

    pid: int


class OutputChunk(NamedTuple):
    """Output of a run."""

    stream: StreamName
    data: bytes


class TaskRunning(NamedTuple):
    """A background task runs and has not failed at once."""


class Adopted(NamedTuple):
    """The keeper has made the run, or its leftovers, a task. `pid` and `pgid` identify it."""

    pid: int
    pgid: int


class AdoptionFailed(NamedTuple):
    """The request to make a run, or its leftovers, a task failed."""

    reason: str
    gone: bool = False
    """The run has ended, or its keeper is dead: no request can succeed any more."""


class StartFailed(NamedTuple):
    """The run could not be started."""

    errno: int
    """0 if there is none."""
    reason: str
    duration: float = 0.0
    running: tuple[Process, ...] = ()
    killed_leftovers: tuple[Process, ...] = ()
    hint: str = ""
    """The fix, if the errno does not imply it."""


def parse_start_failed(error: OSError) -> StartFailed:
    """Return the event for an error of the operating system."""
    return StartFailed(error.errno or 0, error.strerror or str(error), hint=getattr(error, "hint", ""))


class RunStopped(NamedTuple):
    """The end of a run, as the keeper reports it."""

    status: int
    reason: EndReason
    duration: float
    all_sleeping: bool = False
    running: tuple[Process, ...] = ()
    killed_leftovers: tuple[Process, ...] = ()
    """Leftovers that were killed, as requested."""
    out_of_memory: bool = False
    """The run was killed by SIGKILL, and the kernel's OOM killer was active meanwhile."""
    notes: tuple[str, ...] = ()
    """Further information from the engine that ran it."""


class KeeperLost(NamedTuple):
    """The keeper died; its processes of this run have been killed."""

    reason: str
    duration: float
    running: tuple[Process, ...]
    killed_leftovers: tuple[Process, ...] = ()


class Promoted(NamedTuple):
    """The run keeps running as a task: the last event for its caller."""

    task: TaskRef
    duration: float
    running: tuple[Process, ...] = ()
    killed_leftovers: tuple[Process, ...] = ()


class OutcomeReported(NamedTuple):
    """The end of a run whose engine reports the outcome, and explains it, itself: nothing is concluded from the
    output."""

    outcome: Outcome
    duration: float = 0.0
    running: tuple[Process, ...] = ()
    killed_leftovers: tuple[Process, ...] = ()
    result: Result | None = None
    """A whole result, if the engine has one: only the command, directory and redactor are replaced."""


FinalEvent: TypeAlias = StartFailed | RunStopped | KeeperLost | Promoted | OutcomeReported
AdoptionReply: TypeAlias = TaskRunning | Adopted | AdoptionFailed
RunEvent: TypeAlias = ShellStarted | OutputChunk | AdoptionReply | FinalEvent


def stopped_event(ended: EndedReply) -> RunStopped:
    """Return the event for the keeper's report of the end."""
    return RunStopped(
        ended.status,
        ended.reason,
        ended.duration,
        ended.all_sleeping,
        tuple(Process(*row) for row in ended.running),
        tuple(Process(*row) for row in ended.killed_leftovers),
        ended.out_of_memory,
    )
