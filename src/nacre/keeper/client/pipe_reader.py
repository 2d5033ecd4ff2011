"""The host's ends of a run's pipes: bytes from the event loop to `deliver`, no faster than somebody takes them.

Adapts to what comes: small reads and a small pipe for most commands, a large pipe and gathered reads for a flood.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import termios
from asyncio import AbstractEventLoop
from collections.abc import Callable

from nacre.base.system import PIPE_SIZE, widen
from nacre.result import StreamName

_READ = 64 * 1024
_GATHER = PIPE_SIZE // 2
_HIGH_WATER = 4 * PIPE_SIZE


class Intake:
    def __init__(self, loop: AbstractEventLoop, deliver: Callable[[StreamName, bytes], None]) -> None:
        self._loop = loop
        self._deliver = deliver
        self._streams: dict[int, StreamName] = {}
        self._reading: set[int] = set()
        self._flooding: set[int] = set()
        """Pipes that have been found full."""
        self._room: memoryview | None = None
        self._held = 0
        """Bytes delivered and not yet taken."""
        self._over = False

    def open(self, streams: dict[int, StreamName]) -> None:
        """They are ours from now on; to be read at once, unless somebody else is to read them."""
        self._streams = streams
        if not self._over:
            self._resume()

    def taken(self, count: int) -> None:
        """So many of the delivered bytes are in somebody's hands."""
        self._held -= count
        if self._held < _HIGH_WATER and len(self._reading) < len(self._streams) and not self._over:
            self._resume()

    def pause(self) -> None:
        """Leave what is there for another reader, until `resume`, if that comes."""
        self._over = True
        self._pause()

    def resume(self) -> None:
        self._over = False
        self._resume()

    def drain(self) -> None:
        """What the pipes hold now, and no more: whoever writes after the shell's end writes to the keeper."""
        self._over = True
        self._pause()
        for fd in list(self._streams):
            held = bytearray(4)
            fcntl.ioctl(fd, termios.FIONREAD, held)
            left = int.from_bytes(held, sys.byteorder)
            with contextlib.suppress(BlockingIOError):
                while left > 0 and (data := os.read(fd, min(left, PIPE_SIZE))):
                    left -= len(data)
                    self._pass_on(fd, data)

    def close(self, *, forked: bool = False) -> None:
        """`forked`: this is a copy, and the event loop is another process's, with which it shares its epoll."""
        self._over = True
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
            data = self._gather(fd) if fd in self._flooding else os.read(fd, _READ)
        except BlockingIOError:
            return
        if not data:
            self._pause(fd)
            os.close(fd)
            del self._streams[fd]
            return
        if len(data) == _READ and fd not in self._flooding:
            widen(fd)
            self._flooding.add(fd)
        self._pass_on(fd, data)
        if self._held >= _HIGH_WATER:
            self._pause()

    def _gather(self, fd: int) -> bytes:
        """As much as there is, within reason: a chunk costs more on its way through the event loop than to be read.
        Several reads into one buffer, because one large read would keep the writer waiting while it copies."""
        room = self._room = self._room or memoryview(bytearray(_GATHER + _READ))
        got = 0
        while got < _GATHER:
            try:
                count = os.readv(fd, [room[got : got + _READ]])
            except BlockingIOError:
                if got:
                    break
                raise
            if not count:
                break
            got += count
        return bytes(room[:got])

    def _pass_on(self, fd: int, data: bytes) -> None:
        self._held += len(data)
        self._deliver(self._streams[fd], data)
