"""A switch that cancels runs, usable from any thread.

`cancel` calls each registered callback once, in the calling thread. A callback registered afterwards is called at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from threading import RLock
from typing import TypeVar

T = TypeVar("T")


class Cancel:
    """A cancel switch: `cancel()` kills every run whose `ToolContext` holds it."""

    __slots__ = ("_callbacks", "_is_cancelled", "_lock")

    def __init__(self) -> None:
        self._lock = RLock()  # reentrant: a signal handler may cancel while this thread registers a callback
        self._is_cancelled = False
        self._callbacks: dict[object, Callable[[], object]] = {}

    def __repr__(self) -> str:
        return f"<Cancel {'thrown' if self._is_cancelled else 'ready'}>"

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._is_cancelled

    def cancel(self) -> None:
        """Kill all runs whose context holds this switch. Further calls do nothing."""
        with self._lock:
            self._is_cancelled = True
            callbacks = tuple(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Register `callback`, or call it now if already cancelled. Returns a function that unregisters it."""
        key = object()
        with self._lock:
            thrown = self._is_cancelled
            if not thrown:
                self._callbacks[key] = callback
        if thrown:
            callback()

        def forget() -> None:
            with self._lock:
                self._callbacks.pop(key, None)

        return forget


class _CallbackScope:
    """Context manager that registers a callback on entry and unregisters it on exit."""

    __slots__ = ("_callback", "_cancel", "_forget")

    def __init__(self, cancel: Cancel | None, callback: Callable[[], object]) -> None:
        self._cancel = cancel
        self._callback = callback
        self._forget: Callable[[], None] | None = None

    def __enter__(self) -> None:
        if self._cancel is not None:
            self._forget = self._cancel.on_cancel(self._callback)

    def __exit__(self, *_: object) -> None:
        if self._forget is not None:
            self._forget()


def call_on_cancel(cancel: Cancel | None, callback: Callable[[], object]) -> _CallbackScope:
    """Return a context manager: if `cancel` is thrown inside the block, or was before, it calls `callback` once, in the
    thread that throws it. None is never thrown.

        with call_on_cancel(ctx.cancel, run.cancel):
            await run.next()
    """
    return _CallbackScope(cancel, callback)


async def run_unless_cancelled(cancel: Cancel | None, work: Awaitable[T]) -> T | None:
    """Await `work` and return its result; cancel it and return None if `cancel` is thrown first, from any thread."""
    import asyncio  # not loaded by callers that only check commands

    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    with call_on_cancel(cancel, lambda: loop.call_soon_threadsafe(task.cancel)):
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if cancel is None or not cancel.cancelled or (caller is not None and caller.cancelling()):
                raise  # the caller's task was cancelled, or `work` by itself
            return None
