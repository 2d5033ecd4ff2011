"""Pass output through: write the chunks of a run to this process's stdout and stderr, and drop them from its result.

A slow reader slows down the command. If the reader is gone, the command keeps running, and the result has a note.
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
"""Milliseconds between checks whether the run that waits for a write has been stopped."""


def pass_through(stream: Stream) -> Stream:
    """Wrap a stream function so that its output is passed through."""

    async def forward_stream(request: Request, ctx: ToolContext) -> AsyncGenerator[Event, None]:
        ctx = replace(ctx, limits=replace(ctx.limits, spill=0))  # output that is not kept needs no file
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

    return forward_stream


def _drop_output(result: Result, notes: Iterable[str]) -> Result:
    return replace(
        result,
        out=Captured(total_bytes=result.out.total_bytes),
        err=Captured(total_bytes=result.err.total_bytes),
        both=Captured(total_bytes=result.both.total_bytes),
        notes=(*result.notes, *notes),
    )


class StdioForwarder:
    """This process's stdout and stderr, written by threads that return when `stopped` is set."""

    def __init__(self) -> None:
        self.stopped = False
        self.errors: dict[StreamName, str] = {}
        if sys.__stdout__ is None:  # closed at start: the number may belong to another file by now
            self._give_up("stdout", "it is closed")
        if sys.__stderr__ is None:
            self._give_up("stderr", "it is closed")
        for ours in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # may be None, or any object
                ours.flush()  # earlier output comes first

    async def forward(self, chunk: Chunk) -> None:
        if chunk.stream in self.errors:
            return
        try:
            await asyncio.to_thread(self._write, _FD[chunk.stream], chunk.data)
        except OSError as error:
            self._give_up(chunk.stream, error.strerror or str(error))

    def _give_up(self, stream: StreamName, why: str) -> None:
        self.errors[stream] = f"Its {stream} could not be forwarded: {why}."

    def _write(self, fd: int, data: bytes) -> None:
        ready, rest = select.poll(), memoryview(data)
        ready.register(fd, select.POLLOUT)
        while rest and not self.stopped:
            if ready.poll(_POLL_INTERVAL_MS):
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(fd, rest[: select.PIPE_BUF]) :]  # up to PIPE_BUF never blocks after POLLOUT
