"""Wait for tasks: until they end, print a pattern, open a port, or print nothing for a while.

Keepers report events, so nothing is polled but ports, which no keeper reports. A cancelled wait leaves nothing behind
and does not touch the task.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import struct
from collections.abc import Sequence
from contextlib import aclosing
from typing import TypeAlias, assert_never

from nacre.base.frozen import frozen
from nacre.errors import InvalidRequest
from nacre.tasks.follow import follow
from nacre.tasks.handle import TaskHandle
from nacre.tasks.match import LineMatcher, Match
from nacre.tasks.store.task import Task

_BLOCK_BYTES = 64 * 1024
_LOOPBACK = ("127.0.0.1", "localhost")
_POLL_INTERVAL_S = 0.05
_PORT_POLL_INTERVAL_S = 0.05
_PORT_CONNECT_TIMEOUT_S = 1.0
_FLOOD_POLL_INTERVAL_S = 0.02
"""Seconds between reads of a task that prints continuously."""


@frozen
class Exit:
    """Wait condition: the task no longer runs."""


@frozen
class Port:
    """Wait condition: a process listens on the TCP port, and the task is alive."""

    number: int
    host: str = "127.0.0.1"
    """Host name or address. For 127.0.0.1 and localhost, ::1 is tried, too."""


@frozen
class Quiet:
    """Wait condition: the task has printed nothing for `seconds`."""

    seconds: float


WaitCondition: TypeAlias = Exit | Match | Port | Quiet


@frozen(kw_only=True)
class WaitResult:
    """Result of a wait."""

    tasks: tuple[Task, ...]
    """The tasks at the end of the wait, in the order given."""
    met: tuple[str, ...]
    """Ids of the tasks that met the condition."""
    ended: tuple[str, ...]
    """Ids of the tasks that ended without meeting it."""
    timed_out: bool
    match: dict[str, str]
    """The matching line, by task id."""


def validate(until: WaitCondition, timeout: float | None) -> None:
    """Check a wait's arguments. InvalidRequest: invalid condition or timeout."""
    if timeout is not None and not is_seconds(timeout):
        raise InvalidRequest(
            "bad_timeout", f"`timeout` is {timeout!r}.", field="timeout", hint="Give seconds, or None for no limit."
        )
    match until:
        case Exit():
            return
        case Match():
            until.compile_pattern()
            return
        case Port(number, host):
            if type(number) is int and 0 < number < 65536 and isinstance(host, str) and host:
                return
        case Quiet(seconds):
            if is_seconds(seconds):
                return
    raise InvalidRequest(
        "bad_until",
        f"`until` is {until!r}.",
        field="until",
        hint="Use Exit(), Match('pattern'), Port(8000) or Quiet(seconds).",
    )


def is_seconds(value: object) -> bool:
    """Return whether a value is a finite, non-negative number of seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


async def wait(places: Sequence[TaskHandle], *, any: bool, timeout: float | None, until: WaitCondition) -> WaitResult:
    """Wait for tasks, as `Tasks.wait` does."""
    watchers = [_Watcher(place, until) for place in places]
    jobs = [asyncio.ensure_future(watcher.run()) for watcher in watchers]
    try:
        timed_out = await _first_or_all(jobs, watchers, any, timeout)
    finally:
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
    return WaitResult(
        tasks=tuple([watcher.task or watcher.handle.read() for watcher in watchers]),
        met=tuple([watcher.handle.id for watcher in watchers if watcher.met]),
        ended=tuple([watcher.handle.id for watcher in watchers if watcher.done and not watcher.met]),
        timed_out=timed_out,
        match={watcher.handle.id: watcher.line for watcher in watchers if watcher.line is not None},
    )


async def _first_or_all(
    jobs: Sequence[asyncio.Task[None]], watchers: Sequence[_Watcher], any: bool, timeout: float | None
) -> bool:
    """Return whether the time was up first. Each task's state at the start is checked in any case, however short the
    time."""
    loop = asyncio.get_running_loop()
    until = None if timeout is None else loop.time() + timeout
    pending = set(jobs)
    which = asyncio.FIRST_COMPLETED if any else asyncio.FIRST_EXCEPTION
    while pending:
        left = None if until is None else until - loop.time()
        if left is not None and left <= 0:
            if all(watcher.first_check_done for watcher in watchers):
                return True
            left = _FLOOD_POLL_INTERVAL_S
        done, pending = await asyncio.wait(pending, timeout=left, return_when=which)
        for job in done:
            job.result()
        if any and [watcher for watcher in watchers if watcher.met]:
            break
    return False


class _Watcher:
    """One task and its wait condition."""

    def __init__(self, place: TaskHandle, until: WaitCondition) -> None:
        self.handle = place
        self._until = until
        self.first_check_done = False
        """The state at the start of the wait was checked."""
        self.met = self.done = False
        self.line: str | None = None
        self.task: Task | None = None

    async def run(self) -> None:
        match self._until:
            case Exit():
                self.first_check_done = True
                self.task = await self.handle.wait_until_ended()
                self.met = self.task.state != "broken"
            case Match():
                self.met = await self._match(self._until)
            case Port():
                self.met = await self._port(self._until)
            case Quiet(seconds):
                self.met = await self._quiet(seconds)
            case _:
                assert_never(self._until)
        self.task = self.task or self.handle.read()
        self.done = True

    async def _match(self, until: Match) -> bool:
        lines = LineMatcher(until.compile_pattern())

        def caught_up() -> None:
            self.first_check_done = True

        async with aclosing(follow(self.handle, until.since, _BLOCK_BYTES, caught_up)) as outputs:
            async for output in outputs:
                self.line = lines.feed(output.data, after_gap=output.dropped > 0)
                if self.line is not None:
                    return True
                await asyncio.sleep(0)  # let other tasks run: there may be much output
        return False

    async def _port(self, until: Port) -> bool:
        ending = asyncio.ensure_future(self.handle.wait_until_ended())
        try:
            while not ending.done():
                if await _listens(until) and (task := self.handle.read()).alive:
                    self.task = task
                    return True
                self.first_check_done = True
                await asyncio.wait({ending}, timeout=_PORT_POLL_INTERVAL_S)
            self.task = ending.result()
            return False
        finally:
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)

    async def _quiet(self, seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        task = self.handle.read()
        self.first_check_done = True
        while task.alive:
            seen = task.bytes
            last = loop.time() - (task.idle or 0.0)
            if last + seconds <= loop.time():
                return True
            if (line := self.handle.connect()) is None:
                await asyncio.sleep(min(_POLL_INTERVAL_S, last + seconds - loop.time()))
            else:
                with line, contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(last + seconds):
                        await line.watch(seen)
                        await asyncio.sleep(_FLOOD_POLL_INTERVAL_S)
            task = self.handle.read()
        return False


async def _listens(until: Port) -> bool:
    hosts = [until.host, "::1"] if until.host in _LOOPBACK else [until.host]
    for host in hosts:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setblocking(False)
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # see `_is_connected_to_itself`
                async with asyncio.timeout(_PORT_CONNECT_TIMEOUT_S):
                    await asyncio.get_running_loop().sock_connect(probe, (host, until.number))
                if not _is_connected_to_itself(probe):
                    return True
        except OSError:
            continue  # including TimeoutError
    return False


def _is_connected_to_itself(probe: socket.socket) -> bool:
    """Return whether the probe connected to itself: with no listener, the kernel may pick the probed port as the source
    port.

    The awaited server must still be able to bind that port: SO_REUSEADDR allows it now, SO_LINGER 0 avoids TIME_WAIT
    afterwards.
    """
    try:
        if probe.getsockname() != probe.getpeername():
            return False
    except OSError:
        return False  # a listener accepted and has closed already
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return True
