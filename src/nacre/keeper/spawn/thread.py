"""Run a function in a new thread that is gone when its result is returned.

Restrictions of a thread (namespaces, Landlock, seccomp, capabilities) then apply only to the processes that it has
started. The thread has to be gone: if it lived on inside a command's restrictions, the command could signal and read
it, and thereby this process.
"""

from __future__ import annotations

import _thread
import errno
import os
import time

_EXIT_POLL_S = 0.00002

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


def run_in_throwaway_thread(work: Callable[[], T]) -> T:
    """Run `work`, wait for its thread to exit, return or raise as it did. BlockingIOError: no thread is available."""
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
        time.sleep(_EXIT_POLL_S)  # not just a yield: a keeper with real-time priority would yield to no other process
    if errors:
        raise errors[0]
    return answers[0]
