"""A switch that cancels runs, usable from any thread.

`cancel` calls each registered callback once, in the calling thread. A callback registered afterwards is called at once.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock


class Cancel:
    """A cancel switch: `cancel()` kills every run whose `ToolContext` holds it."""

    __slots__ = ("_callbacks", "_is_cancelled", "_lock")

    def __init__(self) -> None:
        self._lock = RLock()  # reentrant: a signal handler may cancel while this thread registers a callback
        self._is_cancelled = False
        self._callbacks: dict[object, Callable[[], None]] = {}

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

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
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
