"""Output that is let through: the events of a run in, its chunks written to this process's own stdout and stderr as
they come, and a result that holds none of them out.

A reader that is slow makes the command slow. One that is gone does not end it; the result says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import TypeAlias

from nacre.base.frozen import replace
from nacre.result import Captured, Chunk, Ended, Event, Result, StreamName
from nacre.types import Request, ToolContext

Stream: TypeAlias = "Callable[[Request, ToolContext], AsyncGenerator[Event, None]]"

_FD = {"stdout": 1, "stderr": 2}
_POLL_INTERVAL_MS = 100
"""Milliseconds between two looks whether anybody still waits for a write."""


def pass_through(stream: Stream) -> Stream:
    """The same stream, on its way."""

    async def passing(request: Request, ctx: ToolContext) -> AsyncGenerator[Event, None]:
        ctx = replace(ctx, limits=replace(ctx.limits, spill=0))  # what nobody keeps needs no file
        through = StdioForwarder()
        try:
            async with aclosing(stream(request, ctx)) as events:
                async for event in events:
                    if isinstance(event, Chunk):
                        await through.forward(event)
                    elif isinstance(event, Ended):
                        event = Ended(_drop_output(event.result, through.errors.values()))
                    yield event
        finally:
            through.stopped = True

    return passing


def _drop_output(result: Result, notes: Iterable[str]) -> Result:
    return replace(
        result,
        out=Captured(total_bytes=result.out.total_bytes),
        err=Captured(total_bytes=result.err.total_bytes),
        both=Captured(total_bytes=result.both.total_bytes),
        notes=(*result.notes, *notes),
    )


class StdioForwarder:
    """Our own stdout and stderr, written by threads that end when nobody waits for them any more."""

    def __init__(self) -> None:
        self.stopped = False
        self.errors: dict[StreamName, str] = {}
        if sys.__stdout__ is None:  # closed when this process began: who knows what has the number now
            self._give_up("stdout", "it is closed")
        if sys.__stderr__ is None:
            self._give_up("stderr", "it is closed")
        for ours in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # there may be none
                ours.flush()  # what was printed before comes before

    async def forward(self, chunk: Chunk) -> None:
        if chunk.stream in self.errors:
            return
        try:
            await asyncio.to_thread(self._write, _FD[chunk.stream], chunk.data)
        except OSError as error:
            self._give_up(chunk.stream, error.strerror or str(error))

    def _give_up(self, stream: StreamName, why: str) -> None:
        self.errors[stream] = f"Its {stream} could not be passed on: {why}."

    def _write(self, fd: int, data: bytes) -> None:
        ready, rest = select.poll(), memoryview(data)
        ready.register(fd, select.POLLOUT)
        while rest and not self.stopped:
            if ready.poll(_POLL_INTERVAL_MS):
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(fd, rest[: select.PIPE_BUF]) :]  # so little does not block
