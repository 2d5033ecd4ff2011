"""Limit the number of concurrent runs; further ones wait first come, first served. Works across threads and event
loops."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import threading
from collections import deque

from nacre.cancel import Cancel, call_on_cancel

_MAX_RUNS = 512
_FDS_PER_RUN = 4
_FDS_RESERVED = 64


def default_capacity() -> int:
    """Return the number of runs for which this process has file descriptors, from 1 to 512."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MAX_RUNS
    return max(1, min(_MAX_RUNS, (soft - _FDS_RESERVED) // _FDS_PER_RUN))


class RunLimiter:
    """A semaphore for runs. `capacity`: runs at the same time; ValueError if below 1."""

    def __init__(self, capacity: int | None = None) -> None:
        if capacity is not None and capacity < 1:
            raise ValueError(f"max_running must be at least 1, not {capacity}")
        self._capacity = default_capacity() if capacity is None else capacity
        self._reset()

    def _reset(self) -> None:
        self._free = self._capacity
        self._queue: deque[_Waiter] = deque()
        self._lock = threading.Lock()
        self._process = os.getpid()

    def _reset_after_fork(self) -> None:
        """After a fork, start empty: permits and waiters belong to the parent."""
        if self._process != os.getpid():
            self._reset()

    def slot(self, cancel: Cancel | None = None) -> _Slot:
        """Return an async context manager that holds a permit. Its value is False if it was cancelled first.

        async with limiter.slot(ctx.cancel) as admitted:
            if admitted:
                await run()
        """
        return _Slot(self, cancel)

    async def acquire(self, cancel: Cancel | None = None) -> bool:
        """Wait for a permit; return False if cancelled first. Call `release` once for each True."""
        if cancel is not None and cancel.cancelled:
            return False
        self._reset_after_fork()
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return True
            ticket = _Waiter()
            self._queue.append(ticket)
        try:
            with call_on_cancel(cancel, ticket.cancel):
                admitted = await ticket.answer
        except BaseException:
            self._give_up(ticket)
            raise
        if not admitted:
            self._give_up(ticket)
        return admitted

    def release(self) -> None:
        """Return a permit, and pass it to the first waiter."""
        while True:
            with self._lock:
                if not self._queue:
                    self._free += 1
                    return
                ticket = self._queue.popleft()
                ticket.granted = True
            if ticket.call(admitted=True):
                return

    def _give_up(self, ticket: _Waiter) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._queue.remove(ticket)
        if ticket.granted:  # the permit was granted at the same moment
            ticket.granted = False
            self.release()


class _Slot:
    """A permit, held inside an `async with` block."""

    __slots__ = ("_admitted", "_cancel", "_limiter")

    def __init__(self, limiter: RunLimiter, cancel: Cancel | None) -> None:
        self._limiter = limiter
        self._cancel = cancel
        self._admitted = False

    async def __aenter__(self) -> bool:
        self._admitted = await self._limiter.acquire(self._cancel)
        return self._admitted

    async def __aexit__(self, *_: object) -> None:
        if self._admitted:
            self._limiter.release()


class _Waiter:
    """A caller of `acquire` that waits for a permit."""

    __slots__ = ("_loop", "answer", "granted")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[bool] = self._loop.create_future()
        self.granted = False

    def cancel(self) -> None:
        self.call(admitted=False)

    def call(self, *, admitted: bool) -> bool:
        """Wake the waiter from any thread. Returns False if its event loop is closed."""

        def set_answer() -> None:
            if not self.answer.done():
                self.answer.set_result(admitted)

        try:
            self._loop.call_soon_threadsafe(set_answer)
        except RuntimeError:
            return False
        return True
