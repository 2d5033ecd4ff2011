"""Throttle: when ten thousand runs start at once, each event loop lets a few continue per iteration, and handles other
events in between. For any thread and event loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque

_MAX_CONCURRENT_PLANS = 32
"""Runs planned per iteration, which takes some ten milliseconds."""


class Throttle:
    """Bound on the callers that continue in one iteration of an event loop."""

    def __init__(self, at_a_time: int = _MAX_CONCURRENT_PLANS) -> None:
        self._at_a_time = at_a_time
        self._of_thread = threading.local()

    async def wait_turn(self) -> None:
        """Wait until the caller may continue."""
        loop = asyncio.get_running_loop()
        lane = getattr(self._of_thread, "lane", None)
        if lane is None or lane.loop is not loop:
            lane = self._of_thread.lane = _Lane(loop, self._at_a_time)
        await lane.wait_turn()


class _Lane:
    """The callers of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, at_a_time: int) -> None:
        self.loop = loop
        self._at_a_time = at_a_time
        self._left = at_a_time
        self._is_running = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait_turn(self) -> None:
        if not self._is_running:
            self._is_running = True
            self.loop.call_soon(self._next)
        if self._left and not self._waiting:
            self._left -= 1
            return
        turn = self.loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next(self) -> None:
        """Start the next round; the loop has handled everything else once."""
        self._left = self._at_a_time
        self._is_running = bool(self._waiting)
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():  # otherwise the caller was cancelled
                turn.set_result(None)
                self._left -= 1
        if self._is_running:
            self.loop.call_soon(self._next)
