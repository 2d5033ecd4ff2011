"""What the host does not read any more is read here: into the log of a task, or to be thrown away.

Whoever still writes neither blocks nor dies of it.
"""

from __future__ import annotations

import os
import time

from nacre.base.system import PIPE_BYTES, grow_pipe
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.run import Run

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from nacre.keeper.server.task_record import TaskRecord

_BUFFER = bytearray(256 * 1024)
_DEFAULT_PIPE_BYTES = 64 * 1024
"""What a pipe holds until it is widened."""
_FLOOD_PAUSE_S = 0.01


def drain(loop: EventLoop, run: Run, *, alone: bool = False) -> None:
    """`alone`: there are no other runs that would have to wait meanwhile."""
    for fd in run.fds:
        _watch(loop, run, fd, alone)


def drain_rest(run: Run, record: TaskRecord) -> None:
    """What its pipes hold now, and no more: what could not be ended may write forever."""
    for fd in run.fds:
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
    if run.record is not None:
        if count == _DEFAULT_PIPE_BYTES:
            grow_pipe(fd)
        run.record.log.write(memoryview(_BUFFER)[:count])
        run.record.control.notify_output()
    if count == len(_BUFFER) and not alone:
        # a flood: let it wait a little rather than the other runs
        loop.forget(fd)
        loop.call_at(time.monotonic() + _FLOOD_PAUSE_S, run.tag, lambda: _watch(loop, run, fd, alone))
