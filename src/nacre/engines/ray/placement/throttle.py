"""Turns: ten thousand that want to begin at once do so a few at a time, and the event loop gets to everything else
between them. Any thread, any event loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque

_MAX_CONCURRENT_PLANS = 32
"""Some ten milliseconds of planning."""


class Throttle:
    def __init__(self, at_a_time: int = _MAX_CONCURRENT_PLANS) -> None:
        self._at_a_time = at_a_time
        self._of_thread = threading.local()

    async def wait_turn(self) -> None:
        loop = asyncio.get_running_loop()
        lane = getattr(self._of_thread, "lane", None)
        if lane is None or lane.loop is not loop:
            lane = self._of_thread.lane = _Lane(loop, self._at_a_time)
        await lane.wait_turn()


class _Lane:
    """One event loop's."""

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
        """The loop has come round: it has looked at everything else once."""
        self._left = self._at_a_time
        self._is_running = bool(self._waiting)
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():  # else he has gone
                turn.set_result(None)
                self._left -= 1
        if self._is_running:
            self.loop.call_soon(self._next)
