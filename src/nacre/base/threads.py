"""Bridges between blocking and async code: run a coroutine from code without an event loop, and a blocking function in
a thread from code that has one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


def block_on(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to completion, in the caller's context variables, and return its result.

    Inside a running event loop it runs in a new thread and blocks that loop.
    """
    import asyncio  # not loaded by callers that only check commands

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    answer: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(asyncio.run(work))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="nacre-blocking")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return answer[0]


async def run_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a new thread and await the result.

    The thread exits when done; the threads of the loop's executor would stay. If no thread can be started, `work` runs
    inline and blocks the loop.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            tell = partial(answer.set_result, work(*args, **kwargs))
        except BaseException as error:
            tell = partial(answer.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: no caller waits for the result
            loop.call_soon_threadsafe(lambda: answer.done() or tell())

    try:
        threading.Thread(target=copy_context().run, args=(run,), name="nacre-beside").start()
    except RuntimeError:
        return work(*args, **kwargs)
    return await answer
