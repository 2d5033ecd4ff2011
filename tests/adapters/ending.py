"""The two ways in which the caller of a framework ends its run while the command runs: cancel, and timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.support.lifeline import Lifeline

ENDINGS = ("cancelled", "out of time")


async def end_run_by(how: str, run: Coroutine[Any, Any, Any], life: Lifeline) -> None:
    """End the run, whose command holds `life`, and wait until all that it started is dead."""
    if how == "cancelled":
        task = asyncio.ensure_future(run)
        await life.wait_until_held()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        with pytest.raises(TimeoutError):
            await _run_until_held(run, life)
    await life.wait_until_ended()


async def _run_until_held(run: Coroutine[Any, Any, Any], life: Lifeline) -> None:
    async def expire() -> None:
        await life.wait_until_held()
        limit.reschedule(asyncio.get_running_loop().time())

    async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:
        group.create_task(expire())
        await run
