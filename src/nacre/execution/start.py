"""Start runs and wait for other work until the caller cancels."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from nacre.cancel import Cancel
from nacre.keeper.client.events import RunStopped
from nacre.keeper.client.handle import RunHandle, UnstartedRun
from nacre.keeper.protocol.ending import CANCELLED, TIMED_OUT
from nacre.types import Plan

if TYPE_CHECKING:
    from nacre.engines import Engine
    from nacre.keeper.client.connection import TaskDirHandle

T = TypeVar("T")


async def run_unless_cancelled(cancel: Cancel, work: Coroutine[Any, Any, T]) -> T | None:
    """Run `work` and return its result; cancel it and return None if `cancel` is thrown first, from any thread."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)

    def give_up() -> None:
        loop.call_soon_threadsafe(task.cancel)

    forget = cancel.on_cancel(give_up)
    try:
        await asyncio.wait([task])
        return None if task.cancelled() else task.result()
    finally:
        task.cancel()
        forget()


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

    def call_off() -> None:
        loop.call_soon_threadsafe(task.cancel)

    forget = None if cancel is None else cancel.on_cancel(call_off)
    try:
        await asyncio.wait([task], timeout=None if plan.timeout == float("inf") else plan.timeout)
        late = task.cancel()  # False if it is done already
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(_close)
        raise
    finally:
        if forget is not None:
            forget()
    if not task.cancelled():
        return task.result()
    return UnstartedRun(RunStopped(0, TIMED_OUT if late else CANCELLED, loop.time() - began))


def _close(task: asyncio.Future[RunHandle]) -> None:
    """Close a run that started although its start was cancelled: no caller will get it."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()
