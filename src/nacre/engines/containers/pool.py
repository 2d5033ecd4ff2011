"""OpenOnce: resources that are slow to open, opened once per key by the first caller. For any thread and event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class OpenOnce(Generic[K, V]):
    """A map of resources, each opened once per key. `close` is called for each that is dropped."""

    def __init__(self, close: Callable[[V], None]) -> None:
        self._close = close
        self._lock = threading.Lock()
        self._futures: dict[K, Future[V | None]] = {}

    async def get(self, key: K, opened: Callable[[], Awaitable[V]]) -> V:
        """Return the open resource, or open one. If opening fails, every waiting caller gets the exception."""
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
                future.set_result(None)  # cancelled: one of the waiting callers opens it instead
            raise
        with self._lock:
            kept = self._futures.get(key) is future
        if not kept:  # cleared meanwhile
            self._close(value)
        future.set_result(value if kept else None)
        return value if kept else None

    def items(self) -> list[tuple[K, V]]:
        """Return the keys and resources that are open."""
        with self._lock:
            futures = list(self._futures.items())
        return [(key, value) for key, future in futures if (value := _value(future)) is not None]

    def drop(self, key: K, value: V) -> None:
        """Close a resource and forget it, but keep one that has replaced it."""
        with self._lock:
            future = self._futures.get(key)
            if future is not None and _value(future) is value:
                del self._futures[key]
        self._close(value)

    def peek(self, key: K) -> V | None:
        """Return the open resource; None if there is none."""
        with self._lock:
            future = self._futures.get(key)
        return None if future is None else _value(future)

    def clear(self) -> None:
        """Close all resources; those being opened are closed as soon as they are open. An exception from closing one
        does not keep the others open: the first is raised at the end."""
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
    """Wait for another caller to open the resource. Cancelling the wait does not affect the other callers."""
    return await asyncio.shield(asyncio.wrap_future(future))


def _value(future: Future[V | None]) -> V | None:
    return future.result() if future.done() and future.exception() is None else None
