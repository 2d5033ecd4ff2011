"""Waiting that whoever asked can end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from nacre.cancel import Cancel

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
