"""Standing in the queue. Looks into the gate: from outside one cannot see that somebody waits there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from nacre.execution.limiter import RunLimiter
from tests.support.waiting import until

T = TypeVar("T")


async def in_queue(gate: RunLimiter, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task that stands in the queue now, behind all who did before."""
    before = len(gate._queue)
    task = asyncio.create_task(coroutine)
    await until(lambda: len(gate._queue) > before, "its place in the queue")
    return task
