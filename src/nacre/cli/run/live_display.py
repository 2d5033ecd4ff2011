"""Live display of `nacre run`: redraws the latest output while the command runs, and erases the drawing at the end.

A terminal that is slow, or stopped by Ctrl-S, misses frames; neither the command nor Ctrl-C waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from nacre.cli.common.messages import write_all
from nacre.cli.common.terminal import is_dumb, is_ready, reflows, size, terminal_capabilities
from nacre.cli.run.output import WriterThread
from nacre.result import Chunk, Started
from nacre.views.console.live import LiveView

_SHOW_AFTER_S = 0.25
"""Delay before the first frame: shorter runs are not worth watching."""
_FRAME_INTERVAL_S = 0.1
"""Interval between two frames."""
_LAST_FRAME_TIMEOUT_S = 0.5
"""Limit for writing the last frame."""


class LiveDisplay:
    """Live display of a run. Draws only on a terminal that supports it; counts lines and bytes in any case."""

    def __init__(
        self,
        command: str,
        cwd: str,
        *,
        description: str,
        on_failure: Callable[[], None],
    ) -> None:
        self.failure: OSError | None = None
        seen = terminal_capabilities()
        self.live = LiveView(
            command,
            cwd,
            description=description,
            reflows=reflows(),
            colour=seen.colour,
        )
        self._utf8 = seen.utf8
        self._on_failure = on_failure
        self._watched = os.isatty(1) and not is_dumb()
        self._writer: WriterThread | None = None
        self._writing: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._began = self._due = 0.0
        self._drawn = False
        self._before: dict[int, Any] = {}
        """Previous signal handlers."""

    async def begin(self, started: Started) -> None:
        """Load the panels in a thread, and start the timer of the first frame."""
        self.live.timeout, self.live.redactor = started.timeout, started.redactor
        threading.Thread(target=_load, name="nacre-panels", daemon=True).start()
        if self._watched:
            self._began = time.monotonic()
            self._due = self._began + _SHOW_AFTER_S
            self._timer = asyncio.get_running_loop().call_later(_SHOW_AFTER_S, self._tick)
            self._handle_suspend()

    async def write(self, chunk: Chunk) -> None:
        self.live.feed(chunk.stream, chunk.data)
        if self._timer is not None and time.monotonic() >= self._due:  # a flood of output starves the loop's timers
            self._draw()

    def stop_waiting(self) -> None:
        """Show that the command is being killed: it may take a while to exit. Nothing here blocks."""
        self.live.ending = True

    def abandon(self) -> None:
        """Start a new line for the next program on the terminal. This process exits right after."""
        if self._drawn and is_ready(1):
            with contextlib.suppress(OSError):
                write_all(1, b"\r\n")

    async def end(self) -> None:
        """Erase the drawing and restore the signal handlers."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=_LAST_FRAME_TIMEOUT_S)
        if self._drawn and (self._writing is None or self._writing.done()):
            columns, lines = size()
            self._send(self.live.erase(columns, lines))
            if self._writing is not None:
                await asyncio.wait({self._writing}, timeout=_LAST_FRAME_TIMEOUT_S)
        self._drawn = False

    def _handle_suspend(self) -> None:
        """On Ctrl-Z, erase the drawing for the shell that gets the terminal; after SIGCONT, draw anew. On Ctrl-\\,
        start a new line. Handlers of the `signal` module, because the event loop would draw once more before it calls
        its own."""

        def rest(number: int, _: object) -> None:
            columns, lines = size()
            if self._drawn and (erasure := self.live.erase(columns, lines)) and is_ready(1):
                with contextlib.suppress(OSError):
                    write_all(1, erasure.encode())
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            signal.signal(number, rest)
            self.live.forget()

        def forget(number: int, _: object) -> None:  # noqa: ARG001
            self.live.forget()

        def leave(number: int, _: object) -> None:
            self.abandon()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        for number, handler in ((signal.SIGTSTP, rest), (signal.SIGCONT, forget), (signal.SIGQUIT, leave)):
            if signal.getsignal(number) is signal.SIG_DFL:
                self._before[number] = signal.signal(number, handler)

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_FRAME_INTERVAL_S, self._tick)
        if time.monotonic() >= self._due:
            self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        self._due = now + _FRAME_INTERVAL_S
        if self.failure is not None or (self._writing is not None and not self._writing.done()):
            return
        columns, lines = size()
        self._send(self.live.frame(now - self._began, columns, lines, utf8=self._utf8))
        self._drawn = True

    def _send(self, text: str) -> None:
        if self._writer is None:
            self._writer = WriterThread()
        self._writing = self._writer.write(1, text.encode("utf-8", "backslashreplace"))
        self._writing.add_done_callback(self._on_written)

    def _on_written(self, written: asyncio.Future[None]) -> None:
        error = None if written.cancelled() else written.exception()
        if isinstance(error, OSError) and self.failure is None:
            self.failure = error
            self._on_failure()


def _load() -> None:
    """Import the panels while the command runs, so that they are loaded when it exits."""
    with contextlib.suppress(Exception):  # the code that needs them reports the error
        import nacre.views.panels.refusal  # noqa: F401
