"""Messages of the keeper to the host, on a run's own channel. See `messages` for the encoding."""

from __future__ import annotations

from nacre.keeper.protocol.ending import EndReason
from nacre.keeper.protocol.messages import MalformedMessage, parse_int, parse_seconds

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    ProcessRow: TypeAlias = tuple[int, int, str]
    """PID, process group and command line of a process."""

_UNSEEN_STATUS = b"-1"


class AssignedReply:
    """The run is being handed over to a dedicated keeper, of which this is the PID. May be sent more than once."""

    __slots__ = ("keeper",)

    def __init__(self, keeper: int) -> None:
        self.keeper = keeper

    def message(self) -> bytes:
        return b"handed\0%d" % self.keeper


class StartedReply:
    """The shell is up. Its pipes come as file descriptors, unless the run is a task."""

    __slots__ = ("keeper", "pid")

    def __init__(self, pid: int, keeper: int) -> None:
        self.pid = pid
        self.keeper = keeper
        """PID of the keeper that has the run."""

    def message(self) -> bytes:
        return b"started\0%d\0%d" % (self.pid, self.keeper)


class RunningReply:
    """A task runs, and has not failed at once."""

    __slots__ = ()

    def message(self) -> bytes:
        return b"going"


class AdoptedReply:
    """The run, or its leftovers, became a task. `pid` and `pgid` identify it."""

    __slots__ = ("pgid", "pid")

    def __init__(self, pid: int, pgid: int) -> None:
        self.pid = pid
        self.pgid = pgid

    def message(self) -> bytes:
        return b"adopted\0%d\0%d" % (self.pid, self.pgid)


class FailedReply:
    """The run could not be started; or, after its start, it could not become a task."""

    __slots__ = ("errno", "reason")

    def __init__(self, errno: int, reason: str) -> None:
        self.errno = errno
        """0 if there is none."""
        self.reason = reason

    def message(self) -> bytes:
        return b"failed\0%d\0%b" % (self.errno, self.reason.encode("utf-8", "replace"))


class EndedReply:
    """The run has ended."""

    __slots__ = ("all_sleeping", "duration", "killed_leftovers", "out_of_memory", "reason", "running", "status")

    def __init__(
        self,
        status: int,
        reason: EndReason,
        duration: float,
        *,
        all_sleeping: bool = False,
        out_of_memory: bool = False,
        killed_leftovers: Sequence[ProcessRow] = (),
        running: Sequence[ProcessRow] = (),
    ) -> None:
        self.status = status
        """Wait status of the shell; -1 if its exit was not seen or it never started."""
        self.reason = reason
        self.duration = duration
        """Seconds from the start to the shell's exit."""
        self.all_sleeping = all_sleeping
        """Every process was sleeping when the run began to be killed."""
        self.out_of_memory = out_of_memory
        self.killed_leftovers = killed_leftovers
        self.running = running
        """Processes that are alive."""

    def message(self) -> bytes:
        flags = b"%d%d" % (self.all_sleeping, self.out_of_memory)
        rows = [*_encode_rows(b"ended", self.killed_leftovers), *_encode_rows(b"running", self.running)]
        return b"\0".join((b"ended", b"%d" % self.status, self.reason.encode(), b"%r" % self.duration, flags, *rows))


Reply = AssignedReply | StartedReply | RunningReply | AdoptedReply | FailedReply | EndedReply


def parse_reply(data: bytes) -> Reply:
    """Parse any message of the keeper. Raises MalformedMessage for bytes that no `message` method returns."""
    try:
        match data.split(b"\0"):
            case [b"started", pid, keeper]:
                return StartedReply(parse_int(pid), parse_int(keeper))
            case [b"ended", status, reason, duration, flags, *rows]:
                return _parse_ended(status, reason, duration, flags, rows)
            case [b"handed", keeper]:
                return AssignedReply(parse_int(keeper))
            case [b"going"]:
                return RunningReply()
            case [b"adopted", pid, pgid]:
                return AdoptedReply(parse_int(pid), parse_int(pgid))
            case [b"failed", number, words]:
                return FailedReply(parse_int(number), words.decode())
    except ValueError as error:
        raise MalformedMessage("reply") from error
    raise MalformedMessage("reply")


def _parse_ended(status: bytes, reason: bytes, duration: bytes, flags: bytes, rows: list[bytes]) -> EndedReply:
    if len(flags) != 2 or flags.strip(b"01"):
        raise MalformedMessage("flags")
    killed = [row for row in rows if row.startswith(b"ended ")]
    if killed != rows[: len(killed)]:
        raise MalformedMessage("rows")
    return EndedReply(
        -1 if status == _UNSEEN_STATUS else parse_int(status),
        EndReason.parse(reason),
        parse_seconds(duration),
        all_sleeping=flags[0] == 49,
        out_of_memory=flags[1] == 49,
        killed_leftovers=[_parse_row(b"ended", row) for row in killed],
        running=[_parse_row(b"running", row) for row in rows[len(killed) :]],
    )


def _encode_rows(state: bytes, rows: Sequence[ProcessRow]) -> list[bytes]:
    return [b"%b %d %d %b" % (state, pid, pgid, command.encode("utf-8", "replace")) for pid, pgid, command in rows]


def _parse_row(state: bytes, row: bytes) -> ProcessRow:
    word, pid, pgid, command = row.split(b" ", 3)
    if word != state:
        raise MalformedMessage("row")
    return parse_int(pid), parse_int(pgid), command.decode()
