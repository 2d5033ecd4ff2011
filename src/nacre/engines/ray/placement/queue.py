"""The queue for leases: callers of any thread and event loop, in order. Does not use Ray."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict

from nacre.engines.ray.placement.resources import Lease
from nacre.errors import EngineUnavailable


class LeaseWaiter:
    """A caller in the queue. Its result is stored before it is notified, so that a lease is not lost if the caller is
    cancelled meanwhile. Small, because ten thousand may wait."""

    __slots__ = ("cancelled", "lease", "loop", "notified")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.notified: asyncio.Future[None] = self.loop.create_future()
        self.lease: Lease | EngineUnavailable | None = None
        """The result; None after notification: the caller was cancelled."""
        self.cancelled = False


class LeaseQueue:
    """Waiting callers, ten thousand of whom may be cancelled at any moment."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may cancel while this thread holds it
        self._waiting: OrderedDict[LeaseWaiter, None] = OrderedDict()
        self._notify_loops: dict[asyncio.AbstractEventLoop, list[LeaseWaiter]] = {}
        """Callers that have a result and are notified in the next iteration of their loop."""

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self) -> LeaseWaiter:
        """Add a caller at the end; its event loop is the running one."""
        waiter = LeaseWaiter()
        with self._lock:
            self._waiting[waiter] = None
        return waiter

    def leave(self, waiter: LeaseWaiter) -> Lease | None:
        """Remove a caller without notifying it. Return the lease that it may have got at the same moment."""
        with self._lock:
            self._waiting.pop(waiter, None)
            waiter.cancelled = True
            return waiter.lease if isinstance(waiter.lease, Lease) else None

    def give_up(self, waiter: LeaseWaiter) -> None:
        """Notify a caller that it was cancelled, unless it has a result."""
        with self._lock:
            if waiter in self._waiting:
                del self._waiting[waiter]
                self._resolve_first(waiter, None)

    def give(self, lease: Lease) -> bool:
        """Give a lease to the first caller. Return False if none waits."""
        with self._lock:
            while self._waiting:
                waiter, _ = self._waiting.popitem(last=False)
                if self._resolve_first(waiter, lease):
                    return True
            return False

    def refuse(self, error: EngineUnavailable) -> None:
        """Give the error to all callers."""
        with self._lock:
            waiting, self._waiting = list(self._waiting), OrderedDict()
            for waiter in waiting:
                self._resolve_first(waiter, error)

    def _resolve_first(self, waiter: LeaseWaiter, given: Lease | EngineUnavailable | None) -> bool:
        """Store a result and schedule the notification, with the lock held. Return False if the caller is gone."""
        if waiter.cancelled or waiter.loop.is_closed():
            return False
        told = self._notify_loops.setdefault(waiter.loop, [])
        if not told:  # one wake-up per loop, for all its callers
            try:
                waiter.loop.call_soon_threadsafe(self._notify, waiter.loop)
            except RuntimeError:  # closed just now
                del self._notify_loops[waiter.loop]
                return False
        told.append(waiter)
        waiter.lease, waiter.cancelled = given, True
        return True

    def _notify(self, loop: asyncio.AbstractEventLoop) -> None:
        """Notify the callers of a loop, in its thread."""
        with self._lock:
            told = self._notify_loops.pop(loop, [])
        for waiter in told:
            if not waiter.notified.done():
                waiter.notified.set_result(None)
