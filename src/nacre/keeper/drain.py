"""What nobody reads any more is read here and thrown away: whoever still writes neither blocks nor dies of it."""

from __future__ import annotations

import os
import time

from nacre.keeper.loop import Loop
from nacre.keeper.run import Run

_SWALLOW = bytearray(256 * 1024)
_REST = 0.01


def drain(loop: Loop, run: Run) -> None:
    for fd in run.fds:
        _watch(loop, run, fd)


def _watch(loop: Loop, run: Run, fd: int) -> None:
    loop.watch(fd, lambda: _swallow(loop, run, fd))


def _swallow(loop: Loop, run: Run, fd: int) -> None:
    try:
        count = os.readv(fd, [_SWALLOW])
    except BlockingIOError:
        return
    if count == 0:
        loop.forget(fd)
    elif count == len(_SWALLOW):
        # a flood: let it wait a little rather than the other runs
        loop.forget(fd)
        loop.at(time.monotonic() + _REST, run.tag, lambda: _watch(loop, run, fd))
