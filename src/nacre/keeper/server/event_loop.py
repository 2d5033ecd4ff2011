"""The keeper's event loop: readable descriptors, exited children, timers.

Calls back one at a time, on one thread. Of runs, it knows only the tags of their timers.
"""

from __future__ import annotations

import selectors
import signal
import socket
import time
from heapq import heappop, heappush

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from nacre.keeper.protocol.channel import Channel

_MAX_WAIT_S = 86_400.0
"""Seconds of one wait: the kernel accepts no more than some weeks."""


class EventLoop:
    """An event loop with timers that belong to runs."""

    __slots__ = ("_live_tags", "_selector", "_timer_count", "_timers")

    def __init__(self, live_tags: Container[int]) -> None:
        """`live_tags`: tags of the runs that exist; timers of other tags are ignored."""
        self._selector = selectors.DefaultSelector()
        self._live_tags = live_tags
        self._timers: list[tuple[float, int, int, Callable[[], None]]] = []
        """A heap of time, number, tag and action."""
        self._timer_count = 0

    def run_once(self, until: float | None) -> None:
        """Wait for the next event, at most until the time `until`, and handle what is due."""
        due = [when for when in (until, self._timers[0][0] if self._timers else None) if when is not None]
        wait = min(max(0.0, min(due) - time.monotonic()), _MAX_WAIT_S) if due else None
        for key, _ in self._selector.select(wait):
            if self._selector.get_map().get(key.fd) is key:  # an earlier event of this round may have closed it
                key.data()
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            _, _, tag, action = heappop(self._timers)
            if tag in self._live_tags:
                action()

    def call_at(self, when: float, tag: int, action: Callable[[], None]) -> None:
        """Call `action` at the time `when` if the run still exists."""
        if self._timer_count % 256 == 0:  # most timers are deadlines of runs that ended long before
            self._timers = sorted(timer for timer in self._timers if timer[2] in self._live_tags)
        self._timer_count += 1
        heappush(self._timers, (when, self._timer_count, tag, action))

    def watch(self, source: Channel | socket.socket | int, action: Callable[[], None]) -> None:
        """Call `action` whenever `source` is readable, instead of what was called before."""
        self.forget(source)
        self._selector.register(source, selectors.EVENT_READ, action)

    def forget(self, source: Channel | socket.socket | int) -> None:
        try:
            self._selector.unregister(source)
        except (KeyError, ValueError):
            pass  # never watched, or closed

    def watch_children(self, action: Callable[[], None]) -> None:
        """Call `action` after children have exited."""
        reader, writer = socket.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)

        def on_signal() -> None:
            try:
                reader.recv(4096)
            except BlockingIOError:
                pass
            action()

        self.watch(reader, on_signal)
