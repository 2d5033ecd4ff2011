"""Start a run with its engine, unless the caller cancels first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nacre.cancel import Cancel, call_on_cancel
from nacre.keeper.client.events import RunStopped
from nacre.keeper.client.handle import RunHandle, UnstartedRun
from nacre.keeper.protocol.ending import CANCELLED, TIMED_OUT
from nacre.types import Plan

if TYPE_CHECKING:
    from nacre.engines import Engine
    from nacre.keeper.client.connection import TaskDirHandle


async def start_run(
    engine: Engine, plan: Plan, cancel: Cancel | None, state: int | None = None, folder: TaskDirHandle | None = None
) -> RunHandle:
    """Start a run with `engine.start`. An engine may take minutes to start a container: starting is cancelled by the
    caller or at the command's timeout, as the command would be."""
    if engine.is_local:
        return await engine.start(plan, state, folder)
    loop = asyncio.get_running_loop()
    began = loop.time()
    task = asyncio.ensure_future(engine.start(plan, state, folder))
    try:
        with call_on_cancel(cancel, lambda: loop.call_soon_threadsafe(task.cancel)):
            await asyncio.wait([task], timeout=None if plan.timing.timeout == float("inf") else plan.timing.timeout)
            late = task.cancel()  # False if it is done already
            await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(_close)
        raise
    if not task.cancelled():
        return task.result()
    return UnstartedRun(RunStopped(0, TIMED_OUT if late else CANCELLED, loop.time() - began))


def _close(task: asyncio.Future[RunHandle]) -> None:
    """Close a run that started although its start was cancelled: no caller will get it."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()
