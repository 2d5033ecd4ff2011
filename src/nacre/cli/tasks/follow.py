"""`nacre output --follow`: prints a task's output as it arrives, until the task ends or the reader is gone."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from typing import NoReturn

from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import write_all
from nacre.cli.common.terminal import is_ready
from nacre.cli.tasks.output_writers import JsonLines, RawOutput
from nacre.tasks.store.log_reader import Output
from nacre.tasks.tasks import Tasks

with without_ssl():
    import asyncio

_READER_POLL_S = 1.0
"""Interval at which to check that stdout still has a reader."""


def follow(tasks: Tasks, id: str, since: int, lines: int | None, to: RawOutput | JsonLines) -> int:
    try:
        with _reset_colour_on_signal(to):
            asyncio.run(_follow(tasks, id, since, lines, to))
    except KeyboardInterrupt:
        to.end(interrupted=True)
        raise
    to.end()
    return 0


async def _follow(tasks: Tasks, id: str, since: int, lines: int | None, to: RawOutput | JsonLines) -> None:
    if lines is not None:
        last = tasks.output(id, since=since, lines=lines)
        with _interruptible():
            to.write(last)
        if not last.task.alive and not last.more:
            return
        since = last.cursor
    async with aclosing(tasks.follow(id, since=since)) as outputs:
        while True:
            read = await _next(outputs)
            if read is None:
                return
            with _interruptible():
                to.write(read)


async def _next(outputs: AsyncIterator[Output]) -> Output | None:
    """Return the next output; None at the end. Raise BrokenPipeError if stdout has no reader any more."""
    coming = asyncio.ensure_future(anext(outputs, None))
    try:
        while not coming.done():
            await asyncio.wait({coming}, timeout=_READER_POLL_S)
            if _nobody_reads():
                raise BrokenPipeError
        return coming.result()
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


def _nobody_reads() -> bool:
    poll = select.poll()
    poll.register(1, 0)
    return bool(poll.poll(0))


@contextmanager
def _reset_colour_on_signal(to: RawOutput | JsonLines) -> Iterator[None]:
    """Reset the terminal's colour when a signal kills this process. The handler does so itself: control never returns
    to the interrupted code."""

    def leave(number: int, _: object) -> None:
        if to.reset and is_ready(1):
            write_all(1, to.reset.encode())
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT) if _is_default(each)]
    for number in numbers:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _is_default(number: int) -> bool:
    return signal.getsignal(number) is signal.SIG_DFL


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt a write that a slow reader blocks; asyncio's handler would wait for the write."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
