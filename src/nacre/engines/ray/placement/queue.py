"""The queue for leases: who waits, of whichever thread and event loop, in their order. Knows nothing of Ray."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict

from nacre.engines.ray.placement.resources import Lease
from nacre.errors import EngineUnavailable


class Waiter:
    """Somebody in the queue. What he is given is written down before he hears of it, so that it is not lost if he goes
    away meanwhile. Small: ten thousand may wait."""

    __slots__ = ("given", "heard", "loop", "over")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.heard: asyncio.Future[None] = self.loop.create_future()
        self.given: Lease | EngineUnavailable | None = None
        """None, when it is over: he was cancelled."""
        self.over = False


class Queue:
    """Any of ten thousand may go away at any moment."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may cancel what this thread just asks for
        self._waiting: OrderedDict[Waiter, None] = OrderedDict()
        self._told: dict[asyncio.AbstractEventLoop, list[Waiter]] = {}
        """Those who have been given something, and will hear of it when their loop comes round."""

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self) -> Waiter:
        waiter = Waiter()
        with self._lock:
            self._waiting[waiter] = None
        return waiter

    def leave(self, waiter: Waiter) -> Lease | None:
        """At once, without a word. He may have been given something at the same moment."""
        with self._lock:
            self._waiting.pop(waiter, None)
            waiter.over = True
            return waiter.given if isinstance(waiter.given, Lease) else None

    def give_up(self, waiter: Waiter) -> None:
        """He hears that it is over, unless he has been given something."""
        with self._lock:
            if waiter in self._waiting:
                del self._waiting[waiter]
                self._settle(waiter, None)

    def give(self, lease: Lease) -> bool:
        """To the first. False: nobody waits."""
        with self._lock:
            while self._waiting:
                waiter, _ = self._waiting.popitem(last=False)
                if self._settle(waiter, lease):
                    return True
            return False

    def refuse(self, error: EngineUnavailable) -> None:
        """All of them."""
        with self._lock:
            waiting, self._waiting = list(self._waiting), OrderedDict()
            for waiter in waiting:
                self._settle(waiter, error)

    def _settle(self, waiter: Waiter, given: Lease | EngineUnavailable | None) -> bool:
        """With the lock held. False: there is nobody any more."""
        if waiter.over or waiter.loop.is_closed():
            return False
        told = self._told.setdefault(waiter.loop, [])
        if not told:  # a loop is woken once, however many of it hear something
            try:
                waiter.loop.call_soon_threadsafe(self._tell, waiter.loop)
            except RuntimeError:  # closed just now
                del self._told[waiter.loop]
                return False
        told.append(waiter)
        waiter.given, waiter.over = given, True
        return True

    def _tell(self, loop: asyncio.AbstractEventLoop) -> None:
        """In the thread of that loop."""
        with self._lock:
            told = self._told.pop(loop, [])
        for waiter in told:
            if not waiter.heard.done():
                waiter.heard.set_result(None)
