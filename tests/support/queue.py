"""Helper to wait in the queue of a RunLimiter. It reads a private attribute: waiters are not visible from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from nacre.execution.limiter import RunLimiter
from tests.support.waiting import until

T = TypeVar("T")


async def in_queue(gate: RunLimiter, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start the coroutine as an asyncio task; return when it is in the queue, behind all earlier waiters."""
    before = len(gate._queue)
    task = asyncio.create_task(coroutine)
    await until(lambda: len(gate._queue) > before, "its place in the queue")
    return task
