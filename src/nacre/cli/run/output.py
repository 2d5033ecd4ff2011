"""Writes the command's output to stdout and stderr: every byte, in order, while it runs. On a terminal, control
sequences are escaped unless every byte was requested.

A slow reader slows the command down. If the reader is gone, the command is killed (`failure`). A reader that has
stopped reading does not block us after `stop_waiting`: a thread that is never joined does every write that could block.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import select
import threading
from collections.abc import Callable
from queue import SimpleQueue

from nacre.cli.common.messages import encode_for_terminal, write_all
from nacre.cli.common.terminal import is_ready
from nacre.result import Chunk, Started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.views.console.escape import TerminalFilter

_WRITE_TIMEOUT_S = 0.5
"""Limit for a write after `stop_waiting`."""

_FD = {"stdout": 1, "stderr": 2}


class OutputWriter:
    """Writer of a command's output to stdout and stderr."""

    def __init__(self, on_failure: Callable[[], None], *, raw: bool = False) -> None:
        """`raw`: write every byte to a terminal as well. Otherwise a terminal gets no control sequences except
        colours."""
        self.failure: OSError | None = None
        self._on_failure = on_failure
        self._stuck = False
        self._open_line = {1: False, 2: False}
        self._writer: WriterThread | None = None
        self._screens = {} if raw else {fd: _screen() for fd in (1, 2) if os.isatty(fd)}

    async def write(self, chunk: Chunk) -> None:
        if self.failure is not None or self._stuck:
            return
        fd, data = _FD[chunk.stream], chunk.data
        if fd in self._screens:
            data = encode_for_terminal(self._screens[fd].show(data), fd)
        await self._write_bytes(fd, data)

    async def _write_bytes(self, fd: int, data: bytes) -> None:
        try:
            if len(data) <= select.PIPE_BUF and is_ready(fd):
                write_all(fd, data)  # up to PIPE_BUF bytes do not block
            else:
                await self._write_with_timeout(fd, data)
        except OSError as error:
            self.failure = error
            self._on_failure()
        if data:
            self._open_line[fd] = not data.endswith(b"\n")

    async def end(self) -> None:
        """Write what was held back for a terminal, and reset its colour."""
        for fd, screen in self._screens.items():
            if (rest := screen.end()) and self.failure is None and not self._stuck:
                await self._write_bytes(fd, encode_for_terminal(rest, fd))

    async def begin(self, started: Started) -> None:
        """Called when the command has started. Does nothing here."""

    def abandon(self) -> None:
        """Called before this process exits at once. Does nothing here."""

    @functools.cached_property
    def _stopped_waiting(self) -> asyncio.Future[None]:
        return asyncio.get_running_loop().create_future()

    async def _write_with_timeout(self, fd: int, data: bytes) -> None:
        if self._writer is None:
            self._writer = WriterThread()
        writing = self._writer.write(fd, data)
        await asyncio.wait({writing, self._stopped_waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not writing.done():
            await asyncio.wait({writing}, timeout=_WRITE_TIMEOUT_S)
        if writing.done():
            writing.result()
        else:
            self._stuck = True

    def stop_waiting(self) -> None:
        """Stop waiting for a reader that has stopped reading."""
        if not self._stopped_waiting.done():
            self._stopped_waiting.set_result(None)

    @property
    def line_is_open(self) -> bool:
        """True if the next write to stdout would not start on a new line."""
        return self._open_line[1] or (self._open_line[2] and os.isatty(1) and os.isatty(2))

    def end_line(self) -> None:
        """Start a new line on stderr, for a notice of nacre's."""
        if self._open_line[2] or (self._open_line[1] and os.isatty(1) and os.isatty(2)):
            with contextlib.suppress(OSError):
                write_all(2, b"\n")


class WriterThread:
    """Thread for writes that may block. It may still be blocked in one when this process exits."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[int, bytes, asyncio.Future[None]]] = SimpleQueue()
        threading.Thread(target=self._work, name="nacre-output", daemon=True).start()

    def write(self, fd: int, data: bytes) -> asyncio.Future[None]:
        """Queue the write. The future completes when all of `data` is written; its exception is the OSError of the
        write."""
        done = self._loop.create_future()
        self._jobs.put((fd, data, done))
        return done

    def _work(self) -> None:
        while True:
            fd, data, done = self._jobs.get()
            try:
                write_all(fd, data)
            except OSError as error:
                self._tell(done.set_exception, error)
            else:
                self._tell(done.set_result, None)

    def _tell(self, answer: Callable[..., None], value: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits
            self._loop.call_soon_threadsafe(answer, value)


def _screen() -> TerminalFilter:
    from nacre.views.console.escape import TerminalFilter  # imported here: needed for terminals only

    return TerminalFilter()
