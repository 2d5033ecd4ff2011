"""What takes long to open, opened once for each kind by the first who needs it; for any thread and event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class OpenOnce(Generic[K, V]):
    def __init__(self, close: Callable[[V], None]) -> None:
        self._close = close
        self._lock = threading.Lock()
        self._futures: dict[K, Future[V | None]] = {}

    async def get(self, key: K, opened: Callable[[], Awaitable[V]]) -> V:
        """The one that is there, or a new one. If it cannot be opened, everybody who waits for it hears why."""
        while True:
            with self._lock:
                future = self._futures.get(key)
                mine = future is None
                if future is None:
                    future = self._futures[key] = Future()
            value = await self._open(key, future, opened) if mine else await _wait_for(future)
            if value is not None:
                return value

    async def _open(self, key: K, future: Future[V | None], opened: Callable[[], Awaitable[V]]) -> V | None:
        try:
            value = await opened()
        except BaseException as error:
            with self._lock:
                if self._futures.get(key) is future:
                    del self._futures[key]
            if isinstance(error, Exception):
                future.set_exception(error)
            else:
                future.set_result(None)  # this one went away: the next one has to do it
            raise
        with self._lock:
            kept = self._futures.get(key) is future
        if not kept:  # all was let go of meanwhile
            self._close(value)
        future.set_result(value if kept else None)
        return value if kept else None

    def items(self) -> list[tuple[K, V]]:
        """Those that are open."""
        with self._lock:
            futures = list(self._futures.items())
        return [(key, value) for key, future in futures if (value := _value(future)) is not None]

    def drop(self, key: K, value: V) -> None:
        """Let go of this one; not of another that has come in its place."""
        with self._lock:
            future = self._futures.get(key)
            if future is not None and _value(future) is value:
                del self._futures[key]
        self._close(value)

    def peek(self, key: K) -> V | None:
        """The one that is open."""
        with self._lock:
            future = self._futures.get(key)
        return None if future is None else _value(future)

    def clear(self) -> None:
        """Let go of all, and of what is being opened as soon as it is. One that will not go does not keep the others:
        what it has against it is raised when they have gone."""
        values = [value for _, value in self.items()]
        with self._lock:
            self._futures = {}
        errors = []
        for value in values:
            try:
                self._close(value)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]


async def _wait_for(future: Future[V | None]) -> V | None:
    """Whoever waits and goes away leaves it to the others."""
    return await asyncio.shield(asyncio.wrap_future(future))


def _value(future: Future[V | None]) -> V | None:
    return future.result() if future.done() and future.exception() is None else None
