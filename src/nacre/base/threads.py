"""Between those who wait and those who must not: a coroutine for code that has no event loop, a function that takes its
time for code that has one."""

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
    """Inside a running event loop it works too, and blocks that. Context variables are the caller's."""
    import asyncio  # not loaded for those who only look

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
    """On a thread of its own beside the event loop, which is gone when it is done: those of the loop's pool would stay.
    Where there is none to be had, in its way: the loop waits, nothing is lost."""
    import asyncio

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            tell = partial(answer.set_result, work(*args, **kwargs))
        except BaseException as error:
            tell = partial(answer.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits for it
            loop.call_soon_threadsafe(lambda: answer.done() or tell())

    try:
        threading.Thread(target=copy_context().run, args=(run,), name="nacre-beside").start()
    except RuntimeError:
        return work(*args, **kwargs)
    return await answer
