"""Finish a run: results of runs that never started, restored paths, the exit codes of a pipeline, the last event."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from nacre.base.system import payload
from nacre.capture import Collector
from nacre.execution.exit_state import told
from nacre.execution.foreground import Following
from nacre.keeper.client.connection import private_directory
from nacre.keeper.client.events import NeverBegan, never_began
from nacre.keeper.client.handle import Live
from nacre.protected_paths import Protection
from nacre.result import Ended, Event, Outcome, Result, Stage
from nacre.types import Plan, Request

_LATE = 1.0
"""Seconds after the grace that a keeper may take to end a run."""


def lacking(error: OSError) -> NeverBegan:
    """There is no descriptor, most likely."""
    return never_began(error)


def unrun(request: Request, plan: Plan, outcome: Outcome) -> Result:
    return Result(command=request.command, cwd=plan.cwd, outcome=outcome, remarks=plan.remarks, hidden=plan.hidden)


def still_enforced(plan: Plan, guard: Protection | None, elsewhere: frozenset[str]) -> tuple[str, ...]:
    """The rules that the kernel has enforced to the end of the run, here or `elsewhere`."""
    unheld = elsewhere if guard is None else elsewhere | guard.unheld
    return tuple(name for name in plan.enforced if name not in unheld) if unheld else plan.enforced


async def settled(run: Live, following: Following, grace: float) -> list[str]:
    """See it end, and undo what it did to what is watched: what it does when it is told to end may be just that."""
    try:
        if run.listening:  # what an ended one has left running stays
            run.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace + _LATE):
                while run.listening:
                    await run.next()
    finally:
        run.close()
        undone = await following.restore()
    return undone


def file_for_stages(plan: Plan) -> int | None:
    """Where the shell tells how each command of its last pipeline ended."""
    if plan.stages:
        with contextlib.suppress(OSError):  # no descriptor left: then nobody is told
            return payload(b"")
    return None


def stages_of(plan: Plan, state: int | None) -> tuple[Stage, ...]:
    """How each command of its last pipeline ended, if the shell has told."""
    if state is None or not plan.stages:
        return ()
    codes = told(state).stages
    return tuple(map(Stage, plan.stages, codes)) if len(codes) == len(plan.stages) else ()


def collector_for(plan: Plan) -> Collector:
    return Collector(
        limit=plan.output,
        spill=plan.spill,
        directory=private_directory if plan.spill_dir is None else lambda: str(plan.spill_dir),
        name=plan.spill_name,
        merge=plan.merge,
    )


async def ending(stream: AsyncGenerator[Event, None]) -> Result:
    """Consume a stream for its result; to its very end, or its last step would be left to the event loop."""
    result = None
    async for event in stream:
        if isinstance(event, Ended):
            result = event.result
    assert result is not None, "a stream ends with Ended"
    return result
