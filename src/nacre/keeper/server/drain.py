"""Read pipes that the host no longer reads: into a task's log, or to discard the data.

Processes that still write neither block nor get SIGPIPE.
"""

from __future__ import annotations

import os
import time

from nacre.base.system import PIPE_BYTES, grow_pipe
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.run import Run

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from nacre.keeper.server.task.record import TaskRecord

_BUFFER = bytearray(256 * 1024)
_DEFAULT_PIPE_BYTES = 64 * 1024
"""Capacity of a pipe until it is enlarged."""
_FLOOD_PAUSE_S = 0.01


def drain(loop: EventLoop, run: Run, *, alone: bool = False) -> None:
    """Read the run's pipes on the event loop. `alone`: no other runs would have to wait meanwhile."""
    for fd in run.pipes:
        _watch(loop, run, fd, alone)


def drain_rest(run: Run, record: TaskRecord) -> None:
    """Write what the pipes hold now to the log, and no more: processes that could not be killed may write forever."""
    for fd in run.pipes:
        left = PIPE_BYTES
        try:
            while left > 0 and (count := os.readv(fd, [_BUFFER])):
                record.log.write(memoryview(_BUFFER)[:count])
                left -= count
        except OSError:
            continue  # empty


def _watch(loop: EventLoop, run: Run, fd: int, alone: bool) -> None:
    loop.watch(fd, lambda: _read(loop, run, fd, alone))


def _read(loop: EventLoop, run: Run, fd: int, alone: bool) -> None:
    try:
        count = os.readv(fd, [_BUFFER])
    except BlockingIOError:
        return
    if count == 0:
        loop.forget(fd)
        return
    if run.task is not None:
        if count == _DEFAULT_PIPE_BYTES:
            grow_pipe(fd)
        run.task.record.log.write(memoryview(_BUFFER)[:count])
        run.task.record.control.notify_output()
    if count == len(_BUFFER) and not alone:
        # a flood: it waits for a moment, so that other runs do not
        loop.forget(fd)
        loop.call_at(time.monotonic() + _FLOOD_PAUSE_S, run.tag, lambda: _watch(loop, run, fd, alone))
