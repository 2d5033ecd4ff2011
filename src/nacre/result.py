"""Results: outcome, captured output and leftovers of a run, and the events while it runs.

The outcomes can be imported from here, too. This module imports nothing that runs commands.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias, cast

from nacre.base.frozen import frozen, uncompared_field
from nacre.errors import CommandFailed
from nacre.outcomes import outcome_data

# isort: off
# It would write one statement for each name that is exported from here.
from nacre.outcomes import (
    Cancelled as Cancelled,
    Exited as Exited,
    Killed as Killed,
    Lost as Lost,
    NotStarted as NotStarted,
    Outcome as Outcome,
    OverLimit as OverLimit,
    Refused as Refused,
    Running as Running,
    Signalled as Signalled,
    TimedOut as TimedOut,
)

# isort: on

StreamName: TypeAlias = Literal["stdout", "stderr"]


@frozen
class Process:
    """A process that belongs to a run."""

    pid: int
    pgid: int
    command: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"pid": self.pid, "pgid": self.pgid, "command": self.command}


@frozen
class PipelineStatus:
    """One command of a pipeline and its exit status as the shell reports it."""

    name: str
    status: int


@frozen
class TaskRef:
    """Identifiers of a task."""

    id: str
    pid: int
    pgid: int
    """Process group: `kill -9 -PGID` kills it by hand."""
    output_file: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"id": self.id, "pid": self.pid, "pgid": self.pgid, "output_file": self.output_file}


@frozen
class Spill:
    """The spill file: output beyond what memory keeps, in order of arrival."""

    path: str
    bytes: int
    complete: bool
    """False: it reached its size limit or the disk was full; it holds the beginning."""


class Redacts(Protocol):
    """Interface of a redactor, which masks values that may not be shown (`nacre.redact.redactor`)."""

    def values(self) -> tuple[str, ...]: ...
    def mask(self, text: str, *, starts_cut: bool = False, ends_cut: bool = False) -> str: ...
    def mask_all(self, data: Any) -> Any: ...


@frozen(kw_only=True)
class Captured:
    """The bounded record of one stream: its beginning, its end, and exact counts."""

    head: bytes = b""
    tail: bytes = b""
    total_bytes: int = 0
    dropped_bytes: int = 0
    """Bytes left out between `head` and `tail`."""
    dropped_chars: int = 0
    """Characters left out between `head` and `tail`, decoded as UTF-8."""

    @property
    def text(self) -> str:
        """The output as UTF-8, with invalid bytes replaced; a separate line marks the omitted part."""
        return self.masked_text(None)

    def masked_text(self, redactor: Redacts | None) -> str:
        """Return `text` with secrets masked, including parts of a secret cut off at the omitted part."""
        if not self.dropped_bytes:
            whole = (self.head + self.tail).decode("utf-8", "replace")
            return whole if redactor is None else redactor.mask(whole)
        head, tail = self.head.decode("utf-8", "replace"), self.tail.decode("utf-8", "replace")
        if redactor is not None:
            head, tail = redactor.mask(head, ends_cut=True), redactor.mask(tail, starts_cut=True)
        start = "" if head.endswith("\n") else "\n"
        return f"{head}{start}[{self.dropped_bytes:,} bytes left out]\n{tail}"


@frozen(kw_only=True)
class Result:
    """The result of a run: outcome, output, leftovers, notes."""

    command: str
    cwd: str
    outcome: Outcome
    out: Captured = Captured()
    """Standard output."""
    err: Captured = Captured()
    """Standard error."""
    both: Captured = Captured()
    """stdout and stderr in order of arrival, as far as it can be known (exact with `merge`)."""
    duration: float = 0.0
    """Seconds from start to end."""
    pid: int | None = None
    running: tuple[Process, ...] = ()
    """Processes of this run that are still alive."""
    killed_leftovers: tuple[Process, ...] = ()
    """Leftovers that were killed because of `leftovers="end"`."""
    pipestatus: tuple[PipelineStatus, ...] = ()
    """Exit status of each command of the last pipeline, if bash could report it."""
    task: TaskRef | None = None
    """The task that keeps running: the command itself, or its leftovers."""
    spill: Spill | None = None
    files_unreachable: bool = False
    """The spill file and the task's files are outside the file system that commands of this engine see."""
    enforced: tuple[str, ...] = ()
    """Restrictions that were in force, which may be fewer than requested."""
    notes: tuple[str, ...] = ()
    """Notes of nacre about this run, one sentence each."""
    redactor: Redacts | None = uncompared_field(default=None)
    """Masks secrets in every rendering. Not printed, compared or pickled; `stdout`, `stderr` and `output` are not
    masked."""

    @property
    def ok(self) -> bool:
        """Whether the command exited with 0 or was started in the background."""
        return self.outcome == Exited(0) or (isinstance(self.outcome, Running) and not self.outcome.promoted)

    @property
    def exit_code(self) -> int | None:
        """Exit code of the shell; None if it has none (signal, timeout, refusal, …: see `outcome`)."""
        return self.outcome.code if isinstance(self.outcome, Exited) else None

    @property
    def timed_out(self) -> bool:
        """Whether nacre killed the run at its timeout."""
        return isinstance(self.outcome, TimedOut)

    @property
    def stdout(self) -> str:
        """Standard output as text."""
        return self.out.text

    @property
    def stderr(self) -> str:
        """Standard error as text."""
        return self.err.text

    @property
    def output(self) -> str:
        """stdout and stderr in order of arrival, as text."""
        return self.both.text

    @property
    def total_bytes(self) -> int:
        """Bytes that the command printed, until it ended or became a task."""
        return self.both.total_bytes

    @property
    def dropped_bytes(self) -> int:
        """Bytes left out of `output`."""
        return self.both.dropped_bytes

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        return self.outcome.summary

    def check(self) -> Result:
        """Return this result if the command exited with 0 or runs as a task; else raise CommandFailed."""
        if not self.ok and not isinstance(self.outcome, Running):
            raise CommandFailed(self)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as `nacre run --json` prints it, with secrets masked."""
        data = {
            "command": self.command,
            "cwd": self.cwd,
            "outcome": outcome_data(self.outcome),
            "ok": self.ok,
            "exit_code": self.exit_code,
            "timed_out": self.timed_out,
            "stdout": "",
            "stderr": "",
            "output": "",
            "duration": round(self.duration, 6),
            "pid": self.pid,
            "bytes": {
                name: {"total": part.total_bytes, "dropped": part.dropped_bytes}
                for name, part in (("stdout", self.out), ("stderr", self.err), ("output", self.both))
            },
            "running": [process.to_dict() for process in self.running],
            "killed_leftovers": [process.to_dict() for process in self.killed_leftovers],
            "pipestatus": [{"name": stage.name, "status": stage.status} for stage in self.pipestatus],
            "task": None if self.task is None else self.task.to_dict(),
            "spill": None
            if self.spill is None
            else {"path": self.spill.path, "bytes": self.spill.bytes, "complete": self.spill.complete},
            "enforced": list(self.enforced),
            "notes": list(self.notes),
        }
        if self.redactor is not None:
            data = cast("dict[str, Any]", self.redactor.mask_all(data))
        for name, part in (("stdout", self.out), ("stderr", self.err), ("output", self.both)):
            data[name] = part.masked_text(self.redactor)
        return data


@frozen
class Started:
    """The shell has started."""

    pid: int
    timeout: float = float("inf")
    """Seconds from the start to the timeout; `inf`: none."""
    redactor: Redacts | None = uncompared_field(default=None)
    """Masks secrets in every rendering of this run, as in its `Result`. Not printed, compared or pickled."""


@frozen
class Chunk:
    """A piece of output, split between characters."""

    stream: StreamName
    data: bytes

    @property
    def text(self) -> str:
        """The output as UTF-8, with invalid bytes replaced."""
        return self.data.decode("utf-8", "replace")


@frozen
class Ended:
    """The last event of a run, with its result."""

    result: Result


Event: TypeAlias = Started | Chunk | Ended
