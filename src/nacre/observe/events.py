"""The two events of a run that observers receive. Frozen; the text for people (`command`, `to_dict`) is masked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from nacre.base.frozen import frozen, uncompared_field
from nacre.outcomes import outcome_data
from nacre.result import Exited, Redacts, Result
from nacre.types import Access, Mode
from nacre.verdict import Verdict

_MAX_TEXT_CHARS = 10_000
"""Maximum length of a text in a record, in characters."""


@frozen(kw_only=True)
class RunBegan:
    """A command was requested and planned. Nothing has been checked or started yet."""

    id: str
    """Id of this run, in all of its events and records."""
    time: float
    """Seconds since the epoch."""
    command: str
    """The command, with secrets masked like all text for people here."""
    description: str
    profile: str
    tool: str
    """Name of the tool, as the model calls it."""
    caller: str
    """`ToolContext.caller`."""
    conversation_id: str
    mode: Mode
    access: Access
    cwd: str = ""
    """Working directory. Empty if the request could not be planned; then the other fields of the plan are missing,
    too."""
    timeout: float | None = None
    """Seconds; None: no limit."""
    yield_after: float | None = None
    enforced: tuple[str, ...] = ()
    """Restrictions that the kernel is to enforce."""
    redactor: Redacts | None = uncompared_field(default=None)
    """Masks what is not masked yet."""


@frozen(kw_only=True)
class ByteCounts:
    """Bytes of output that were read."""

    stdout: int = 0
    stderr: int = 0
    output: int = 0


@frozen(kw_only=True)
class RunEnded:
    """A run has ended: with a result, or with the reason why there is none."""

    began: RunBegan
    time: float
    """Seconds since the epoch."""
    verdict: Verdict | None = None
    """Verdict of the checker; None if there was no check."""
    approved: bool | None = None
    """Decision of a person, if there was a prompt."""
    result: Result | None = None
    """The full result, not masked; `to_dict` is masked."""
    error: str = ""
    """A stable code if there is no result: `cwd_missing`, …; `abandoned` if the caller did not wait for the end."""
    elapsed: float = 0.0
    """Seconds since the request, by the monotonic clock."""
    pid: int | None = None
    """PID of the shell, if it was started."""
    byte_counts: ByteCounts = ByteCounts()
    digest: str = ""
    """SHA-256 of the output in order of arrival, in hexadecimal; empty if none was read."""

    @property
    def summary(self) -> str:
        """The outcome in a few words, masked."""
        if self.result is None:
            return self.error
        return _mask_text(self.began.redactor, self.result.summary)

    @property
    def duration(self) -> float:
        """Seconds that the command ran; `elapsed` if there is no result."""
        return self.elapsed if self.result is None else self.result.duration

    @property
    def ok(self) -> bool:
        """True if there is a result and it is successful."""
        return self.result is not None and self.result.ok

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with secrets masked: a line of the audit trail, without the identity of the process."""
        began, verdict, result = self.began, self.verdict, self.result
        data: dict[str, Any] = {
            "id": began.id,
            "caller": began.caller,
            "conversation": began.conversation_id,
            "profile": began.profile,
            "command": began.command,
            "description": began.description,
            "verdict": None
            if verdict is None
            else {
                "decision": verdict.decision.value,
                "rule": verdict.rule,
                "reason": verdict.reason,
                "approved": self.approved,
            },
            "plan": {
                "cwd": began.cwd,
                "mode": began.mode,
                "access": began.access,
                "enforced": list(began.enforced),
                "timeout": began.timeout,
                "yield_after": began.yield_after,
            },
            "outcome": None if result is None else outcome_data(result.outcome),
            "exit_code": result.outcome.code if result is not None and isinstance(result.outcome, Exited) else None,
            "error": self.error,
            "duration": round(self.duration, 6),
            "elapsed": round(self.elapsed, 6),
            "pid": self.pid,
            "task": None if result is None or result.task is None else result.task.id,
            "bytes": {
                "stdout": self.byte_counts.stdout,
                "stderr": self.byte_counts.stderr,
                "output": self.byte_counts.output,
            },
            "sha256": self.digest,
        }
        return cast("dict[str, Any]", shorten_texts(data if began.redactor is None else began.redactor.mask_all(data)))


Observed: TypeAlias = RunBegan | RunEnded
Observer: TypeAlias = Callable[[Observed], None]


def finite(seconds: float | None) -> float | None:
    """Replace infinity by None: JSON has no infinity."""
    return None if seconds is None or math.isinf(seconds) else seconds


def shorten_texts(data: Any) -> Any:
    """Shorten long strings in plain data. Must run after masking, which would not recognise half a secret."""
    if isinstance(data, str):
        return data if len(data) <= _MAX_TEXT_CHARS else data[:_MAX_TEXT_CHARS] + "…"
    if isinstance(data, dict):
        return {name: shorten_texts(value) for name, value in data.items()}
    return data


def _mask_text(redactor: Redacts | None, text: str) -> str:
    return text if redactor is None else redactor.mask(text)
