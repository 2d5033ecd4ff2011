"""A run as the host sees it: asked for, started, printing, ended. One per call, on the event loop of that call.

Reads only while somebody takes what was read (back-pressure). The shell's end is the run's end: what the pipes hold at
that moment is read, no more. Closing it in mid-run is all it takes to cancel: one non-blocking step, no awaiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import sys
import termios
import threading
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from nacre.keeper import client as keepers
from nacre.keeper.client import Client
from nacre.keeper.orphans import end_orphans
from nacre.keeper.run import GIVE_UP
from nacre.keeper.system import PIPE_SIZE, widen
from nacre.keeper.wire import CANCEL, Channel
from nacre.result import Process, StreamName
from nacre.types import Plan

_FIRST_READ = 64 * 1024
_GATHER = PIPE_SIZE // 2
_HIGH_WATER = 4 * PIPE_SIZE
_BUSY = 0.002
_DYING = 0.02
_KEEPER_LATE = 10.0
"""Seconds after which a keeper that should have ended a run counts as dead (somebody stopped it)."""


class Began(NamedTuple):
    pid: int


class Printed(NamedTuple):
    stream: StreamName
    data: bytes


class NeverBegan(NamedTuple):
    number: int
    """An errno."""
    reason: str
    duration: float = 0.0
    running: tuple[Process, ...] = ()
    ended: tuple[Process, ...] = ()


class Stopped(NamedTuple):
    """The keeper's account of the end."""

    status: int
    reason: bytes
    duration: float
    asleep: bool
    running: tuple[Process, ...]
    ended: tuple[Process, ...]
    """What the shell had left running and was ended, as asked."""


class Vanished(NamedTuple):
    """The keeper died; what it left of this run has been ended."""

    reason: str
    duration: float
    running: tuple[Process, ...]
    ended: tuple[Process, ...] = ()


LastWord: TypeAlias = NeverBegan | Stopped | Vanished
Happening: TypeAlias = Began | Printed | LastWord


class LiveRun:
    def __init__(self, keeper: Client, control: Channel, plan: Plan) -> None:
        self._loop = asyncio.get_running_loop()
        self._keeper = keeper
        self._control = control
        self._pid: int | None = None
        self._names: tuple[StreamName, ...] = ("stdout",) if plan.merge else ("stdout", "stderr")
        self._streams: dict[int, StreamName] = {}
        self._reading: set[int] = set()
        self._happened: deque[Happening] = deque()
        self._held = 0
        self._flooding: set[int] = set()
        """Pipes that have been found full."""
        self._room: memoryview | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._lock = threading.RLock()
        self._closed = False
        self._listening = True
        self._lost = False
        self._began = self._last_output = self._loop.time()
        self._loop.add_reader(control.fileno(), self._hear)
        bound = plan.timeout + plan.grace + GIVE_UP + _KEEPER_LATE
        self._watchdog = self._loop.call_later(bound, self._lose) if bound < threading.TIMEOUT_MAX else None
        keepers.enlist(self)

    # for the caller

    async def next(self) -> Happening:
        while not self._happened:
            if self._lost:
                return await self._clean_up()
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        happening = self._happened.popleft()
        if isinstance(happening, Printed):
            self._held -= len(happening.data)
            if self._held < _HIGH_WATER and len(self._reading) < len(self._streams):
                self._resume()
        return happening

    @property
    def last_output(self) -> float:
        """Seconds from its start to the last that it printed."""
        return self._last_output - self._began

    def cancel(self) -> None:
        """From any thread; the end arrives as usual."""
        with self._lock:
            if not self._closed:
                with contextlib.suppress(OSError):
                    self._control.send(CANCEL)

    def close(self) -> None:
        """Let go. If it still runs, the keeper ends it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if not self._loop.is_closed():
                self._loop.remove_reader(self._control.fileno())
                self._pause()
                if self._watchdog is not None:
                    self._watchdog.cancel()
            self._control.close()
            for fd in self._streams:
                os.close(fd)
            self._streams.clear()

    def abandon_copies(self) -> None:
        """In a forked child: the run goes on in the parent, whose event loop must not be touched (it shares epoll)."""
        self._closed = True
        self._control.close()
        for fd in self._streams:
            os.close(fd)
        self._streams.clear()

    # from the keeper

    def _hear(self) -> None:
        try:
            message = self._control.receive()
            while message is not None:
                self._understand(message[0].split(b"\0"), message[1])
                message = self._control.receive() if self._listening and self._control.pending else None
        except EOFError:
            self._loop.remove_reader(self._control.fileno())
            # A dying keeper's descriptors close one after another: look at the main one when all are.
            self._loop.call_later(_DYING, self._explain)

    def _explain(self) -> None:
        """The keeper has closed this run's channel without a last word."""
        if self._pid is None and self._keeper.alive:
            self._fail(errno.EMFILE, "the keeper has no descriptor left for it")
        else:
            self._lose()

    def _understand(self, fields: Sequence[bytes], fds: Sequence[int]) -> None:
        match fields:
            case [b"started", pid]:
                self._pid = int(pid)
                self._streams = dict(zip(fds, self._names, strict=False))
                if len(fds) < len(self._names):  # the kernel drops what finds no free descriptor
                    self._fail(errno.EMFILE, "this process has no descriptor left for its output")
                    return
                self._happen(Began(self._pid))
                self._resume()
            case [b"failed", number, reason]:
                self._fail(int(number), reason.decode("utf-8", "replace"))
            case [b"ended", status, reason, duration, asleep, *rows]:
                self._stop_listening()
                self._drain()
                running, ended = _processes(rows, b"running"), _processes(rows, b"ended")
                self._happen(Stopped(int(status), reason, float(duration), asleep == b"1", running, ended))
            case _:
                raise AssertionError(f"the keeper said {fields[0]!r}")

    def _fail(self, number: int, reason: str) -> None:
        if self._closed:
            return
        self._stop_listening()
        self._happen(NeverBegan(number, reason))

    def _stop_listening(self) -> None:
        self._listening = False
        self._loop.remove_reader(self._control.fileno())

    def _lose(self) -> None:
        """The keeper is gone without a word about this run, or does not answer in time."""
        if not self._listening or self._closed:
            return
        self._stop_listening()
        self._keeper.bury()
        self._lost = True
        self._wake()

    async def _clean_up(self) -> Happening:
        left = await end_orphans(self._keeper, self._pid)
        self._drain()
        words = self._keeper.last_words
        reason = f"nacre's keeper process was killed{': ' + words if words else ''}"
        self._lost = False
        self._happened.append(Vanished(reason, self._loop.time() - self._began, left))
        return await self.next()

    # from the pipes

    def _resume(self) -> None:
        if not self._listening:
            return  # the run is over: what comes now is not its output
        for fd in self._streams.keys() - self._reading:
            self._reading.add(fd)
            self._loop.add_reader(fd, self._read, fd)

    def _pause(self, fd: int | None = None) -> None:
        for each in [fd] if fd is not None else list(self._reading):
            self._reading.discard(each)
            self._loop.remove_reader(each)

    def _read(self, fd: int) -> None:
        try:
            data = self._flood(fd) if fd in self._flooding else os.read(fd, _FIRST_READ)
        except BlockingIOError:
            return
        if not data:
            self._pause(fd)
            os.close(fd)
            del self._streams[fd]
            return
        if len(data) == _FIRST_READ:
            widen(fd)
            self._flooding.add(fd)
        self._print(fd, data)
        if self._held >= _HIGH_WATER:
            self._pause()

    def _flood(self, fd: int) -> bytes:
        """As much as there is, within reason: a chunk costs more on its way through the event loop than to be read.
        Several reads into one buffer, because one large read would keep the writer waiting while it copies."""
        room = self._room = self._room or memoryview(bytearray(_GATHER + _FIRST_READ))
        got = 0
        with contextlib.suppress(BlockingIOError):
            while got < _GATHER and (count := os.readv(fd, [room[got : got + _FIRST_READ]])):
                got += count
            return bytes(room[:got])
        if got == 0:
            raise BlockingIOError
        return bytes(room[:got])

    def _drain(self) -> None:
        """What the pipes hold now. Whoever writes after the shell's end writes to the keeper."""
        self._pause()
        for fd in list(self._streams):
            held = bytearray(4)
            fcntl.ioctl(fd, termios.FIONREAD, held)
            left = int.from_bytes(held, sys.byteorder)
            with contextlib.suppress(BlockingIOError):
                while left > 0 and (data := os.read(fd, min(left, PIPE_SIZE))):
                    left -= len(data)
                    self._print(fd, data)

    def _print(self, fd: int, data: bytes) -> None:
        self._last_output = self._loop.time()
        self._held += len(data)
        self._happen(Printed(self._streams[fd], data))

    def _happen(self, happening: Happening) -> None:
        self._happened.append(happening)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _processes(rows: Sequence[bytes], state: bytes) -> tuple[Process, ...]:
    parts = (row.split(b" ", 3) for row in rows)
    return tuple(
        Process(int(pid), int(pgid), command.decode("utf-8", "replace"))
        for kind, pid, pgid, command in parts
        if kind == state
    )


class Stillborn:
    """A run that could not even be asked for."""

    last_output = 0.0

    def __init__(self, word: NeverBegan) -> None:
        self._word = word

    async def next(self) -> NeverBegan:
        return self._word

    def cancel(self) -> None: ...

    def close(self) -> None: ...


async def start(plan: Plan, state: int | None = None) -> LiveRun | Stillborn:
    """Hand a plan to the keeper. `state` is a file for the shell's last directory and environment.

    What this process lacks for it, descriptors most likely, is the run's first and last word.
    """
    while True:
        keeper = keepers.client()
        try:
            control = keeper.start(plan, state)
        except BlockingIOError:
            await asyncio.sleep(_BUSY)
        except ConnectionError:
            keeper.bury()  # it died since the last run: the next one will do, and what it kept ends with it
            await end_orphans(keeper)
        except OSError as error:
            return Stillborn(NeverBegan(error.errno or 0, error.strerror or str(error)))
        else:
            return LiveRun(keeper, control, plan)
