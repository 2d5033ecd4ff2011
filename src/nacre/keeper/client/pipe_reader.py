"""Read a run's pipes on the event loop, no faster than the output is consumed.

Adapts to the amount: small reads and a small pipe for most commands, a large pipe and batched reads for a flood.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import termios
from asyncio import AbstractEventLoop
from collections.abc import Callable

from nacre.base.system import PIPE_BYTES, grow_pipe
from nacre.result import StreamName

_READ_BYTES = 64 * 1024
_MAX_BATCH_BYTES = PIPE_BYTES // 2
_MAX_UNCONSUMED_BYTES = 4 * PIPE_BYTES


class PipeReader:
    """The host's ends of a run's pipes; `deliver` gets each chunk."""

    def __init__(self, loop: AbstractEventLoop, deliver: Callable[[StreamName, bytes], None]) -> None:
        self._loop = loop
        self._deliver = deliver
        self._streams: dict[int, StreamName] = {}
        self._reading: set[int] = set()
        self._busy_pipes: set[int] = set()
        """File descriptors of pipes that were found full."""
        self._buffer: memoryview | None = None
        self._unconsumed = 0
        """Bytes delivered and not yet consumed."""
        self._stopped = False
        self.last_read_at = 0.0
        """Time of the last output on the event loop's clock; 0 if there was none."""

    def open(self, streams: dict[int, StreamName]) -> None:
        """Take over the pipes by descriptor, and read them unless paused."""
        self._streams = streams
        if not self._stopped:
            self._resume()

    def mark_consumed(self, count: int) -> None:
        """Count delivered bytes as consumed, and read on if reading had paused for them."""
        self._unconsumed -= count
        if self._unconsumed < _MAX_UNCONSUMED_BYTES and len(self._reading) < len(self._streams) and not self._stopped:
            self._resume()

    def pause(self) -> None:
        """Stop reading and leave the data in the pipes for another reader, until `resume`."""
        self._stopped = True
        self._pause()

    def resume(self) -> None:
        self._stopped = False
        self._resume()

    def drain(self) -> None:
        """Deliver what the pipes hold now, and no more: the keeper reads what is written after the shell's exit."""
        self._stopped = True
        self._pause()
        for fd in list(self._streams):
            held = bytearray(4)
            fcntl.ioctl(fd, termios.FIONREAD, held)
            left = int.from_bytes(held, sys.byteorder)
            with contextlib.suppress(BlockingIOError):
                while left > 0 and (data := os.read(fd, min(left, PIPE_BYTES))):
                    left -= len(data)
                    self._deliver_batch(fd, data)

    def close(self, *, forked: bool = False) -> None:
        """Close the pipes. `forked`: this is a forked copy, which shares its epoll object with the parent's event
        loop."""
        self._stopped = True
        if not forked and not self._loop.is_closed():
            self._pause()
        for fd in self._streams:
            os.close(fd)
        self._streams.clear()

    def _resume(self) -> None:
        for fd in self._streams.keys() - self._reading:
            self._reading.add(fd)
            self._loop.add_reader(fd, self._read, fd)

    def _pause(self, fd: int | None = None) -> None:
        for each in [fd] if fd is not None else list(self._reading):
            self._reading.discard(each)
            self._loop.remove_reader(each)

    def _read(self, fd: int) -> None:
        try:
            data = self._gather(fd) if fd in self._busy_pipes else os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._pause(fd)
            os.close(fd)
            del self._streams[fd]
            return
        if len(data) == _READ_BYTES and fd not in self._busy_pipes:
            grow_pipe(fd)
            self._busy_pipes.add(fd)
        self._deliver_batch(fd, data)
        if self._unconsumed >= _MAX_UNCONSUMED_BYTES:
            self._pause()

    def _gather(self, fd: int) -> bytes:
        """Read all that is there, up to a limit: passing a chunk through the event loop costs more than reading it.
        Several reads into one buffer, because one large read would make the writer wait while it copies."""
        room = self._buffer = self._buffer or memoryview(bytearray(_MAX_BATCH_BYTES + _READ_BYTES))
        got = 0
        while got < _MAX_BATCH_BYTES:
            try:
                count = os.readv(fd, [room[got : got + _READ_BYTES]])
            except BlockingIOError:
                if got:
                    break
                raise
            if not count:
                break
            got += count
        return bytes(room[:got])

    def _deliver_batch(self, fd: int, data: bytes) -> None:
        self._unconsumed += len(data)
        self.last_read_at = self._loop.time()
        self._deliver(self._streams[fd], data)
