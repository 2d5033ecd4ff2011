"""Events of a run that its caller has not taken yet."""

from __future__ import annotations

import asyncio
from collections import deque

from nacre.keeper.client.events import OutputChunk, RunEvent


class EventQueue:
    """Events in order. One caller at a time may wait."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._events: deque[RunEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def __bool__(self) -> bool:
        return bool(self._events)

    def put(self, event: RunEvent) -> None:
        self._events.append(event)
        self.wake()

    def take(self) -> RunEvent:
        return self._events.popleft()

    def take_output(self) -> list[OutputChunk]:
        """Remove all output and return it."""
        output = [event for event in self._events if isinstance(event, OutputChunk)]
        self._events = deque(event for event in self._events if not isinstance(event, OutputChunk))
        return output

    async def wait(self) -> None:
        """Return after the next `put` or `wake`."""
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
