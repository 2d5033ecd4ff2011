"""Builds the notices about a result for stderr, with secrets masked. Pure."""

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


def notices_for(result: Result, *, background: bool) -> list[str]:
    """Return the lines for stderr. A command that exited or was cancelled needs none, unless it was to be a background
    task."""
    lines: list[str] = []
    task = result.task
    match result.outcome:
        case Running(_, promoted):
            if task is not None and not promoted:  # for a promoted run, a note says so
                lines.append(f"{task.id} is running (process {task.pid}); its output is in {task.output_file}")
        case outcome if background and task is not None:
            lines.append(f"{task.id} ended at once: {outcome.summary}; its output is in {task.output_file}")
            if result.dropped_bytes:
                lines.append(f"{result.dropped_bytes:,} bytes of it were left out here")
        case Exited() | Cancelled():
            pass
        case Signalled() | TimedOut() | OverLimit() | Killed() | Lost():
            lines.append(result.summary)
        case NotStarted(_, hint):
            lines.append(f"{result.summary}. {hint}".strip())
        case Refused(_, _, instead):
            lines.append(result.summary + (f". Instead: {instead}" if instead else ""))
        case outcome:
            assert_never(outcome)
    lines += result.notes
    if (spill := result.spill) is not None:
        whole = "all" if spill.complete else "the first"
        lines.append(f"{whole} {spill.bytes:,} bytes of its output are in {spill.path}")
    return lines if result.redactor is None else [result.redactor.mask(line) for line in lines]
