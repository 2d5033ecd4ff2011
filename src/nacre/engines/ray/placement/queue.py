"""The queue for leases: who waits, of whichever thread and event loop, in their order. Knows nothing of Ray."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict

from nacre.engines.ray.placement.resources import Lease
from nacre.errors import EngineUnavailable


class LeaseWaiter:
    """Somebody in the queue. What he is given is written down before he hears of it, so that it is not lost if he goes
    away meanwhile. Small: ten thousand may wait."""

    __slots__ = ("cancelled", "lease", "loop", "notified")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.notified: asyncio.Future[None] = self.loop.create_future()
        self.lease: Lease | EngineUnavailable | None = None
        """None, when it is over: he was cancelled."""
        self.cancelled = False


class LeaseQueue:
    """Any of ten thousand may go away at any moment."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may cancel what this thread just asks for
        self._waiting: OrderedDict[LeaseWaiter, None] = OrderedDict()
        self._notify_loops: dict[asyncio.AbstractEventLoop, list[LeaseWaiter]] = {}
        """Those who have been given something, and will hear of it when their loop comes round."""

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self) -> LeaseWaiter:
        waiter = LeaseWaiter()
        with self._lock:
            self._waiting[waiter] = None
        return waiter

    def leave(self, waiter: LeaseWaiter) -> Lease | None:
        """At once, without a word. He may have been given something at the same moment."""
        with self._lock:
            self._waiting.pop(waiter, None)
            waiter.cancelled = True
            return waiter.lease if isinstance(waiter.lease, Lease) else None

    def give_up(self, waiter: LeaseWaiter) -> None:
        """He hears that it is over, unless he has been given something."""
        with self._lock:
            if waiter in self._waiting:
                del self._waiting[waiter]
                self._resolve_first(waiter, None)

    def give(self, lease: Lease) -> bool:
        """To the first. False: nobody waits."""
        with self._lock:
            while self._waiting:
                waiter, _ = self._waiting.popitem(last=False)
                if self._resolve_first(waiter, lease):
                    return True
            return False

    def refuse(self, error: EngineUnavailable) -> None:
        """All of them."""
        with self._lock:
            waiting, self._waiting = list(self._waiting), OrderedDict()
            for waiter in waiting:
                self._resolve_first(waiter, error)

    def _resolve_first(self, waiter: LeaseWaiter, given: Lease | EngineUnavailable | None) -> bool:
        """With the lock held. False: there is nobody any more."""
        if waiter.cancelled or waiter.loop.is_closed():
            return False
        told = self._notify_loops.setdefault(waiter.loop, [])
        if not told:  # a loop is woken once, however many of it hear something
            try:
                waiter.loop.call_soon_threadsafe(self._notify, waiter.loop)
            except RuntimeError:  # closed just now
                del self._notify_loops[waiter.loop]
                return False
        told.append(waiter)
        waiter.lease, waiter.cancelled = given, True
        return True

    def _notify(self, loop: asyncio.AbstractEventLoop) -> None:
        """In the thread of that loop."""
        with self._lock:
            told = self._notify_loops.pop(loop, [])
        for waiter in told:
            if not waiter.notified.done():
                waiter.notified.set_result(None)
