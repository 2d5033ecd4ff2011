"""Work done aside: on a thread of its own that is gone when the answer is there.

What binds a thread (namespaces, Landlock, a filter, capabilities) then binds nobody but what it has started. It has to
be gone: a thread that lived on inside a command's bounds could be signalled and read from there, and with it this
process.
"""

from __future__ import annotations

import _thread
import errno
import os
import time

_EXIT_POLL_S = 0.00002

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


def run_in_throwaway_thread(work: Callable[[], T]) -> T:
    """What it gives or raises; BlockingIOError when there is no thread to be had."""
    answers: list[T] = []
    errors: list[BaseException] = []
    numbers: list[int] = []
    done = _thread.allocate_lock()
    done.acquire()

    def begin() -> None:
        try:
            numbers.append(_thread.get_native_id())
            answers.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()

    try:
        _thread.start_new_thread(begin, ())
    except RuntimeError as error:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
    done.acquire()
    while os.path.exists(f"/proc/self/task/{numbers[0]}"):
        time.sleep(_EXIT_POLL_S)  # not just a yield: a keeper that precedes others would yield to nobody
    if errors:
        raise errors[0]
    return answers[0]
