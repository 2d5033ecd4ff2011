"""Waiting that whoever asked can end: for a place, or for an engine that takes its time to start something."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from nacre.cancel import Cancel
from nacre.keeper.happenings import Stopped
from nacre.keeper.live import Live, Stillborn
from nacre.keeper.run import CANCEL, TIMEOUT
from nacre.types import Plan

if TYPE_CHECKING:
    from nacre.engines import Engine
    from nacre.keeper.client import Folder

T = TypeVar("T")


async def unless_cancelled(cancel: Cancel, work: Coroutine[Any, Any, T]) -> T | None:
    """What it gives; None: cancelled first, from whichever thread, and so is the work."""
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


async def started(
    engine: Engine, plan: Plan, cancel: Cancel | None, state: int | None = None, folder: Folder | None = None
) -> Live:
    """`engine.start`. A container may take minutes to start: that ends with the caller's patience, or the command's
    time, as the command itself would."""
    if engine.here:
        return await engine.start(plan, state, folder)
    began = asyncio.get_running_loop().time()
    work = engine.start(plan, state, folder)
    try:
        async with asyncio.timeout(plan.timeout):
            run = await unless_cancelled(cancel or Cancel(), work)
    except TimeoutError:
        return Stillborn(Stopped(0, TIMEOUT, plan.timeout, False, (), ()))
    took = asyncio.get_running_loop().time() - began
    return Stillborn(Stopped(0, CANCEL, took, False, (), ())) if run is None else run
