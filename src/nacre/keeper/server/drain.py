"""What the host does not read any more is read here: into the log of a task, or to be thrown away.

Whoever still writes neither blocks nor dies of it.
"""

from __future__ import annotations

import os
import time

from nacre.base.system import PIPE_SIZE, widen
from nacre.keeper.server.event_loop import Loop
from nacre.keeper.server.run import Run

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from nacre.keeper.server.task_record import Record

_SWALLOW = bytearray(256 * 1024)
_FIRST = 64 * 1024
"""What a pipe holds until it is widened."""
_REST = 0.01


def drain(loop: Loop, run: Run, *, alone: bool = False) -> None:
    """`alone`: there are no other runs that would have to wait meanwhile."""
    for fd in run.fds:
        _watch(loop, run, fd, alone)


def drain_rest(run: Run, record: Record) -> None:
    """What its pipes hold now, and no more: what could not be ended may write forever."""
    for fd in run.fds:
        left = PIPE_SIZE
        try:
            while left > 0 and (count := os.readv(fd, [_SWALLOW])):
                record.log.write(memoryview(_SWALLOW)[:count])
                left -= count
        except OSError:
            continue  # empty


def _watch(loop: Loop, run: Run, fd: int, alone: bool) -> None:
    loop.watch(fd, lambda: _swallow(loop, run, fd, alone))


def _swallow(loop: Loop, run: Run, fd: int, alone: bool) -> None:
    try:
        count = os.readv(fd, [_SWALLOW])
    except BlockingIOError:
        return
    if count == 0:
        loop.forget(fd)
        return
    if run.record is not None:
        if count == _FIRST:
            widen(fd)
        run.record.log.write(memoryview(_SWALLOW)[:count])
        run.record.control.grown()
    if count == len(_SWALLOW) and not alone:
        # a flood: let it wait a little rather than the other runs
        loop.forget(fd)
        loop.at(time.monotonic() + _REST, run.tag, lambda: _watch(loop, run, fd, alone))
