"""Finish a run: results of runs that never started, restored paths, exit statuses of a pipeline, the last event."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from nacre.base.system import memory_file
from nacre.capture import Collector
from nacre.execution.exit_state import read_exit_state
from nacre.execution.foreground import ForegroundRun
from nacre.keeper.client.connection import private_directory
from nacre.keeper.client.events import StartFailed, parse_start_failed
from nacre.keeper.client.handle import RunHandle
from nacre.protected_paths import Protection
from nacre.result import Ended, Event, Outcome, PipelineStatus, Result
from nacre.types import Plan, Request

_KEEPER_MARGIN_S = 1.0
"""Seconds beyond the grace that a keeper may take to kill a run."""


def start_failed(error: OSError) -> StartFailed:
    """Return the event of a run that could not start, most likely because no file descriptor was free."""
    return parse_start_failed(error)


def result_of_unstarted(request: Request, plan: Plan, outcome: Outcome) -> Result:
    return Result(command=request.command, cwd=plan.cwd, outcome=outcome, notes=plan.notes, redactor=plan.redactor)


def still_enforced(plan: Plan, protection: Protection | None, elsewhere: frozenset[str]) -> tuple[str, ...]:
    """Return the restrictions that were enforced until the run ended. `elsewhere`: those that a remote machine failed
    to enforce."""
    unheld = elsewhere if protection is None else elsewhere | protection.unenforced_rules
    return tuple(name for name in plan.enforced if name not in unheld) if unheld else plan.enforced


async def finish_and_restore(run: RunHandle, foreground: ForegroundRun, grace: float) -> list[str]:
    """Kill the run if it is active, wait for its end, then restore protected paths: its clean-up on SIGTERM may change
    them. Returns notes on what was restored."""
    try:
        if run.is_active:  # leftovers of a run that has ended are not killed
            run.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace + _KEEPER_MARGIN_S):
                while run.is_active:
                    await run.next()
    finally:
        run.close()
        undone = await foreground.restore()
    return undone


def open_pipestatus_file(plan: Plan) -> int | None:
    """Create the file in which the shell reports the exit status of each command of its last pipeline."""
    if plan.pipeline_commands:
        with contextlib.suppress(OSError):  # no file descriptor left: run without the report
            return memory_file(b"")
    return None


def read_pipestatus(plan: Plan, state: int | None) -> tuple[PipelineStatus, ...]:
    """Return the exit status of each command of the last pipeline; empty if the shell did not report them."""
    if state is None or not plan.pipeline_commands:
        return ()
    codes = read_exit_state(state).pipe_statuses
    return (
        tuple(map(PipelineStatus, plan.pipeline_commands, codes)) if len(codes) == len(plan.pipeline_commands) else ()
    )


def collector_for(plan: Plan) -> Collector:
    return Collector(
        limit=plan.output,
        spill=plan.spill,
        directory=private_directory if plan.spill_dir is None else lambda: str(plan.spill_dir),
        name=plan.file_prefix,
        merge=plan.merge,
    )


async def collect_result(stream: AsyncGenerator[Event, None]) -> Result:
    """Consume a stream and return its result. Reads on after `Ended`, so that the generator's clean-up runs here and is
    not left to the event loop."""
    result = None
    async for event in stream:
        if isinstance(event, Ended):
            result = event.result
    assert result is not None, "a stream ends with Ended"
    return result
