"""Finish a run: results of runs that never started, restored paths, the exit codes of a pipeline, the last event."""

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
"""Seconds after the grace that a keeper may take to end a run."""


def start_failed(error: OSError) -> StartFailed:
    """There is no descriptor, most likely."""
    return parse_start_failed(error)


def result_of_unstarted(request: Request, plan: Plan, outcome: Outcome) -> Result:
    return Result(command=request.command, cwd=plan.cwd, outcome=outcome, notes=plan.notes, redactor=plan.redactor)


def still_enforced(plan: Plan, protection: Protection | None, elsewhere: frozenset[str]) -> tuple[str, ...]:
    """The rules that the kernel has enforced to the end of the run, here or `elsewhere`."""
    unheld = elsewhere if protection is None else elsewhere | protection.unenforced_rules
    return tuple(name for name in plan.enforced if name not in unheld) if unheld else plan.enforced


async def finish_and_restore(run: RunHandle, foreground: ForegroundRun, grace: float) -> list[str]:
    """See it end, and undo what it did to what is watched: what it does when it is told to end may be just that."""
    try:
        if run.is_active:  # what an ended one has left running stays
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
    """Where the shell tells how each command of its last pipeline ended."""
    if plan.pipeline_commands:
        with contextlib.suppress(OSError):  # no descriptor left: then nobody is told
            return memory_file(b"")
    return None


def read_pipestatus(plan: Plan, state: int | None) -> tuple[PipelineStatus, ...]:
    """How each command of its last pipeline ended, if the shell has told."""
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
    """Consume a stream for its result; to its very end, or its last step would be left to the event loop."""
    result = None
    async for event in stream:
        if isinstance(event, Ended):
            result = event.result
    assert result is not None, "a stream ends with Ended"
    return result
