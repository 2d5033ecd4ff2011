"""Run a function in a forked child, for work that `run_in_throwaway_thread` cannot do.

Only a single-threaded process can enter a user namespace. Processes that the child has started become children of this
process, which is a subreaper.
"""

from __future__ import annotations

import errno
import os
import signal

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_ANSWER_BYTES = 256


def run_in_fork(work: Callable[[], tuple[int, tuple[int, int]]]) -> tuple[int, tuple[int, int]]:
    """Run `work` in a child, wait for its exit and return the result: a PID, and the device and inode of a directory.
    OSError as `work` raised it."""
    answers, mine = os.pipe()
    try:
        child = os.fork()
        if not child:
            _answer(work, mine)
    finally:
        os.close(mine)
    try:
        answer = os.read(answers, _MAX_ANSWER_BYTES).split()
    finally:
        os.close(answers)
        os.waitpid(child, 0)
    if len(answer) != 3:
        number = int(answer[0]) if answer else errno.ECHILD
        raise OSError(number, os.strerror(number))
    pid, device, inode = map(int, answer)
    return pid, (device, inode)


def _answer(work: Callable[[], tuple[int, tuple[int, int]]], to: int) -> None:
    """Run `work` in the child and write its result. Never returns: the child is still inside the parent's event
    loop."""
    try:
        signal.set_wakeup_fd(-1)
        try:
            pid, (device, inode) = work()
            os.write(to, b"%d %d %d" % (pid, device, inode))
        except OSError as error:
            os.write(to, b"%d" % (error.errno or errno.EIO))
    finally:
        os._exit(0)
