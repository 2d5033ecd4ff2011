"""Turn everything known about a run at its end into its result."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from nacre.base.frozen import frozen, replace
from nacre.execution.outcome import notes_on_end, notes_on_limits, notes_on_pipestatus
from nacre.keeper.client.events import FinalEvent, OutcomeReported
from nacre.result import Captured, Ended, Event, Exited, NotStarted, Outcome, PipelineStatus, Result, Spill, TaskRef
from nacre.types import Plan, Request, ToolContext

if TYPE_CHECKING:
    from nacre.redact.redactor import Redactor

_NO_OUTPUT = Captured()
_PURE_NOTES = (notes_on_end, notes_on_pipestatus, notes_on_limits)


@frozen(kw_only=True)
class FinishedRun:
    """A run that has ended, has become a task, or was not started."""

    outcome: Outcome
    last: FinalEvent | None = None
    """The event that ended it; None: it was not started, or is a background task."""
    pid: int | None = None
    """PID of the shell; None: it was not started."""
    out: Captured = _NO_OUTPUT
    err: Captured = _NO_OUTPUT
    both: Captured = _NO_OUTPUT
    last_output: float = 0.0
    """Seconds from the start to the last output."""
    pipestatus: tuple[PipelineStatus, ...] = ()
    task: TaskRef | None = None
    spill: Spill | None = None
    files_unreachable: bool = False
    enforced: tuple[str, ...] = ()
    """Restrictions that were enforced until the end."""
    notes: tuple[str, ...] = ()
    """Changes to the run and by it: it became a task, paths were restored, the spill file is incomplete."""


@frozen(kw_only=True)
class Unplanned:
    """A request for which no plan could be made."""

    request: Request
    cwd: str
    reason: NotStarted
    notes: tuple[str, ...] = ()
    redactor: Redactor | None = None


def build_result(plan: Plan | Unplanned, run: FinishedRun, notes: Sequence[str] = ()) -> Result:
    """Build the result of a run. `notes`: explanations of its end, from `explain_end`."""
    last = run.last
    notes = (*plan.notes, *notes, *run.notes)
    command, cwd, redactor = plan.request.command, plan.cwd, plan.redactor
    if isinstance(last, OutcomeReported) and last.result is not None:
        given = last.result
        return replace(given, command=command, cwd=cwd, notes=(*notes, *given.notes), redactor=redactor)
    return Result(
        command=command,
        cwd=cwd,
        outcome=run.outcome,
        out=run.out,
        err=run.err,
        both=run.both,
        duration=0.0 if last is None else last.duration,
        pid=run.pid,
        running=() if last is None else last.running,
        killed_leftovers=() if last is None else last.killed_leftovers,
        pipestatus=run.pipestatus,
        task=run.task,
        spill=run.spill,
        files_unreachable=run.files_unreachable,
        enforced=run.enforced,
        notes=notes,
        redactor=redactor,
    )


def result_of_unstarted(plan: Plan | Unplanned, outcome: Outcome) -> Result:
    """Build the result of a run that was refused, cancelled before its start, or could not be started."""
    return build_result(plan, FinishedRun(outcome=outcome))


async def explain_end(plan: Plan, run: FinishedRun, ctx: ToolContext, *, is_local: bool) -> list[str]:
    """Return notes that explain the end of a run, from its last event and its output. `is_local`: commands use this
    machine's file system."""
    if isinstance(run.last, OutcomeReported):
        return []
    notes = [note for find_notes in _PURE_NOTES for note in find_notes(plan, run)]
    denied: list[str] = []
    with contextlib.suppress(OSError):  # no file descriptor left to load the modules: return the result anyway
        if plan.sandbox_request is not None:
            from nacre.sandbox.denials import denials  # loaded on the first sandboxed run

            denied = denials(plan, run.outcome, run.both, ctx.conversation_id)
            notes += denied
        if isinstance(run.outcome, Exited) and run.outcome.code and run.both.total_bytes and not denied:
            from nacre.hints import hints_for  # loaded on the first failure

            notes += await hints_for(plan, run.both) if is_local else []
    return notes


async def collect_result(stream: AsyncGenerator[Event, None]) -> Result:
    """Consume a stream and return its result. Reads on after `Ended`, so that the generator's clean-up runs here and is
    not left to the event loop."""
    result = None
    async for event in stream:
        if isinstance(event, Ended):
            result = event.result
    assert result is not None, "a stream ends with Ended"
    return result
