"""The two things an observer hears of a run. Frozen; what a person reads of them (`command`, `to_dict`) is masked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from nacre.base.frozen import frozen
from nacre.result import Exited, Redacts, Result, describe, outcome_data
from nacre.types import Access, Mode
from nacre.verdict import Verdict

_MAX_TEXT_CHARS = 10_000
"""Characters of a text in a record."""


@frozen(kw_only=True)
class RunBegan:
    """A command was asked for and planned. Nothing has been checked or started yet."""

    id: str
    """Of this run, in every event and record of it."""
    time: float
    """Seconds since the epoch."""
    command: str
    """With secrets masked, as everything that a person may read here."""
    description: str
    profile: str
    tool: str
    """The name that the model calls it by."""
    caller: str
    """`ToolContext.caller`."""
    conversation_id: str
    mode: Mode
    access: Access
    cwd: str = ""
    """Empty when it could not even be planned; then the rest of the plan is missing, too."""
    timeout: float | None = None
    """Seconds; None for no limit."""
    yield_after: float | None = None
    enforced: tuple[str, ...] = ()
    """What the kernel is to enforce."""
    redactor: Redacts | None = None
    """Masks what is not masked yet."""


@frozen(kw_only=True)
class ByteCounts:
    """Bytes that a run printed, as far as they were read."""

    stdout: int = 0
    stderr: int = 0
    output: int = 0


@frozen(kw_only=True)
class RunEnded:
    """What came of it: a result, or the reason why there is none."""

    began: RunBegan
    time: float
    """Seconds since the epoch."""
    verdict: Verdict | None = None
    """What the checker said; None when it was not asked."""
    approved: bool | None = None
    """What a person said, if one was asked."""
    result: Result | None = None
    """Whole, and not masked: `to_dict` is."""
    error: str = ""
    """A stable code where there is no result: `cwd_missing`, …; `abandoned` when nobody waited for the end."""
    elapsed: float = 0.0
    """Seconds since it was asked for, whatever was done to the clock meanwhile."""
    pid: int | None = None
    """Its shell, if it came to that."""
    byte_counts: ByteCounts = ByteCounts()
    digest: str = ""
    """SHA-256 of everything it printed, in order of arrival, in hexadecimal; empty where nothing was read of it."""

    @property
    def summary(self) -> str:
        """How it ended, in a few words, masked."""
        if self.result is None:
            return self.error
        return _mask_text(self.began.redactor, describe(self.result.outcome))

    @property
    def duration(self) -> float:
        """Seconds that it ran; all of them, where there is no result that says it."""
        return self.elapsed if self.result is None else self.result.duration

    @property
    def ok(self) -> bool:
        return self.result is not None and self.result.ok

    def to_dict(self) -> dict[str, Any]:
        """Plain data with secrets masked: a line of the audit trail, but for who asked."""
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
    """As JSON has it, which knows no infinity."""
    return None if seconds is None or math.isinf(seconds) else seconds


def shorten_texts(data: Any) -> Any:
    """Every text in plain data, if it is long. After it was masked: half a secret would not be known again."""
    if isinstance(data, str):
        return data if len(data) <= _MAX_TEXT_CHARS else data[:_MAX_TEXT_CHARS] + "…"
    if isinstance(data, dict):
        return {name: shorten_texts(value) for name, value in data.items()}
    return data


def _mask_text(redactor: Redacts | None, text: str) -> str:
    return text if redactor is None else redactor.mask(text)
