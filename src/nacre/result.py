"""The nouns of the way out: how a run ended, what it said, what it left, and the events on the way.

Outcomes are a closed sum: end every `match` on one with `assert_never`. Imports nothing that runs anything.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias, assert_never, cast

from nacre.base.frozen import frozen
from nacre.errors import CommandFailed

StreamName: TypeAlias = Literal["stdout", "stderr"]


@frozen
class Exited:
    """The shell ended by itself."""

    code: int


@frozen
class Signalled:
    """The shell was ended by a signal that nacre did not send."""

    signal: int

    @property
    def name(self) -> str:
        try:
            return signal.Signals(self.signal).name
        except ValueError:
            return f"SIG{self.signal}"


@frozen
class TimedOut:
    """nacre ended it, with everything it had started, when its time was up."""

    after: float


@frozen
class OverLimit:
    """nacre ended it, with everything it had started, when it exceeded one of its limits."""

    limit: str
    """`memory`, `cpu`, `processes` or `threads`."""
    allowed: float
    used: float


@frozen
class Cancelled:
    """The caller threw the cancel switch."""


@frozen
class Killed:
    """Somebody asked nacre to end this task, and it did, with everything it had started."""

    by: str
    """Who asked, in a few words."""
    signal: int = 15
    """What it was asked to end with, before KILL."""


@frozen
class Running:
    """It goes on, as a task."""

    task: str
    """Its id."""
    promoted: bool = False
    """It was to end within the call, and did not."""


@frozen
class Refused:
    """Not run: a rule forbids it."""

    rule: str
    reason: str
    instead: str = ""


@frozen
class NotStarted:
    """The operating system would not start it."""

    reason: str
    hint: str = ""


@frozen
class Lost:
    """The keeper was killed in mid-run: how the command ended is not known, only that nothing of it is left."""

    reason: str


Outcome: TypeAlias = (
    Exited | Signalled | TimedOut | OverLimit | Cancelled | Killed | Running | Refused | NotStarted | Lost
)


def outcome_from(data: Mapping[str, Any]) -> Outcome:
    """The other way round from `Result.to_dict`. ValueError, TypeError, KeyError: it is none."""
    fields = dict(data)
    kind = fields.pop("kind")
    for cls, name in KINDS.items():
        if name == kind:
            return cast("Outcome", cls(**fields))
    raise ValueError(kind)


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """Plain data: its kind and its fields."""
    return {"kind": KINDS[type(outcome)], **{name: getattr(outcome, name) for name in outcome.__match_args__}}


def describe(outcome: Outcome) -> str:
    """An outcome in a few words."""
    match outcome:
        case Exited(code):
            return f"exit {code}"
        case Signalled():
            return f"ended by {outcome.name}"
        case TimedOut(after):
            return f"timed out after {after:g} s"
        case OverLimit(limit, allowed, used):
            return f"over its limit of {amount(limit, allowed)}: it used {amount(limit, used)}"
        case Cancelled():
            return "cancelled"
        case Killed(by):
            return f"killed by {by}"
        case Running(task):
            return f"running as {task}"
        case Refused(rule, reason):
            return f"refused by {rule}: {reason}"
        case NotStarted(reason):
            return f"could not start: {reason}"
        case Lost(reason):
            return f"lost: {reason}"
        case _:
            assert_never(outcome)


def amount(limit: str, value: float) -> str:
    """So much of something that is limited."""
    match limit:
        case "cpu":
            return f"{value:g} s of computing"
        case "processes":
            return f"{value:g} processes"
        case "threads":
            return f"{value:g} threads"
        case "open_files":
            return f"{value:g} open files"
        case _:
            what = "memory" if limit == "memory" else "a file"
            return f"{_size(value)} of {what}" if limit == "memory" else f"{_size(value)} in {what}"


def _size(value: float) -> str:
    for least, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")):
        if value >= least:
            return f"{value / least:.3g} {unit}"
    return f"{value:g} byte{'' if value == 1 else 's'}"


KINDS: dict[type[object], str] = {
    Exited: "exited",
    Signalled: "signalled",
    TimedOut: "timed_out",
    OverLimit: "over_limit",
    Cancelled: "cancelled",
    Killed: "killed",
    Running: "running",
    Refused: "refused",
    NotStarted: "not_started",
    Lost: "lost",
}
"""The name of each outcome on the wire."""


@frozen
class Process:
    """A process that belongs to a run."""

    pid: int
    pgid: int
    command: str

    def to_dict(self) -> dict[str, Any]:
        return {"pid": self.pid, "pgid": self.pgid, "command": self.command}


@frozen
class PipelineStatus:
    """One command of a pipeline, and its exit status as a shell has it."""

    name: str
    status: int


@frozen
class TaskRef:
    """What a task is known by."""

    id: str
    pid: int
    pgid: int
    """Its process group: `kill -9 -PGID` ends it by hand."""
    output_file: str

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "pid": self.pid, "pgid": self.pgid, "output_file": self.output_file}


@frozen
class Spill:
    """The file that holds what was too much for memory, in order of arrival."""

    path: str
    bytes: int
    complete: bool
    """False: it reached its cap, or the disk was full; it then holds the beginning."""


class Redacts(Protocol):
    """Knows what no rendering may show (`nacre.redact.redactor`)."""

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
    """Bytes between `head` and `tail`."""
    dropped_chars: int = 0
    """The same in characters, as UTF-8."""

    @property
    def text(self) -> str:
        """As UTF-8, invalid bytes replaced; a line of its own says what is missing."""
        return self.masked_text(None)

    def masked_text(self, redactor: Redacts | None) -> str:
        """The same without what is hidden, nor a part of it beside what is missing."""
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
    """What happened, whole."""

    command: str
    cwd: str
    outcome: Outcome
    out: Captured = Captured()
    """stdout, as bytes."""
    err: Captured = Captured()
    """stderr, as bytes."""
    both: Captured = Captured()
    """stdout and stderr in order of arrival, as well as it can be known (exact with `merge`)."""
    duration: float = 0.0
    """Seconds from start to end."""
    pid: int | None = None
    running: tuple[Process, ...] = ()
    """Processes of this run that are still alive."""
    killed_leftovers: tuple[Process, ...] = ()
    """Processes that the shell had left running and that were ended, as `leftovers="end"` asks."""
    pipestatus: tuple[PipelineStatus, ...] = ()
    """How each command of the last pipeline ended, where bash could tell."""
    task: TaskRef | None = None
    """What goes on: the command itself, or what it left running."""
    spill: Spill | None = None
    files_unreachable: bool = False
    """Commands that run there do not see the files that it is kept in."""
    enforced: tuple[str, ...] = ()
    """Restrictions that were in force, not the ones asked for."""
    notes: tuple[str, ...] = ()
    """What nacre has to say about this run, a sentence each."""
    redactor: Redacts | None = None
    """What no rendering may show. It is not printed, compared or pickled; `stdout`, `stderr` and `output` are as the
    command wrote them."""

    @property
    def ok(self) -> bool:
        """It did what was asked: exited with 0, or was started in the background."""
        return self.outcome == Exited(0) or (isinstance(self.outcome, Running) and not self.outcome.promoted)

    @property
    def exit_code(self) -> int | None:
        """The shell's own exit code; None when it has none (signal, timeout, refusal, …: see `outcome`)."""
        return self.outcome.code if isinstance(self.outcome, Exited) else None

    @property
    def timed_out(self) -> bool:
        return isinstance(self.outcome, TimedOut)

    @property
    def stdout(self) -> str:
        return self.out.text

    @property
    def stderr(self) -> str:
        return self.err.text

    @property
    def output(self) -> str:
        """stdout and stderr together."""
        return self.both.text

    @property
    def total_bytes(self) -> int:
        """Bytes the command printed while it was watched."""
        return self.both.total_bytes

    @property
    def dropped_bytes(self) -> int:
        """Bytes left out of `output`."""
        return self.both.dropped_bytes

    @property
    def summary(self) -> str:
        """How it ended, in a few words."""
        return describe(self.outcome)

    def check(self) -> Result:
        """Itself when the command exited with 0 or goes on as a task, else `CommandFailed`."""
        if not self.ok and not isinstance(self.outcome, Running):
            raise CommandFailed(self)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `nacre run --json` prints it, with secrets masked."""
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
    """The shell runs."""

    pid: int
    timeout: float = float("inf")
    """Seconds after which the run is ended, as the plan has it; `inf`: never."""
    redactor: Redacts | None = None
    """Masks what no rendering of this run may show: the same as in its `Result`. Not printed, compared or pickled."""


@frozen
class Chunk:
    """Some output, cut between characters."""

    stream: StreamName
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@frozen
class Ended:
    """The last event."""

    result: Result


Event: TypeAlias = Started | Chunk | Ended
