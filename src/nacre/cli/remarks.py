"""What is said about a result, on a command line. Pure."""

from __future__ import annotations

from typing import assert_never

from nacre.result import (
    Cancelled,
    Exited,
    Killed,
    Lost,
    NotStarted,
    OverLimit,
    Refused,
    Result,
    Running,
    Signalled,
    TimedOut,
)


def words_on(result: Result) -> list[str]:
    """The lines for stderr. A command that just ended, well or badly, needs none."""
    lines: list[str] = []
    match result.outcome:
        case Exited() | Cancelled():
            pass
        case Signalled() | TimedOut() | OverLimit() | Killed() | Running() | Lost():
            lines.append(result.summary)
        case NotStarted(_, hint):
            lines.append(f"{result.summary}. {hint}".strip())
        case Refused(_, _, instead):
            lines.append(result.summary + (f". Instead: {instead}" if instead else ""))
        case outcome:
            assert_never(outcome)
    lines += result.remarks
    if (spill := result.spill) is not None:
        whole = "all" if spill.complete else "the first"
        lines.append(f"{whole} {spill.bytes:,} bytes of its output are in {spill.path}")
    return lines
