"""Between those who wait and those who must not: a coroutine for code that has no event loop, a function that takes its
time for code that has one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar, cast

T = TypeVar("T")
P = ParamSpec("P")


def blocking(work: Coroutine[Any, Any, T]) -> T:
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


async def beside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """On a thread beside the event loop. Where there is none to be had, in its way: the loop waits, nothing is lost."""
    import asyncio

    here = False

    def run() -> T | None:
        return None if here else work(*args, **kwargs)

    try:
        answer = asyncio.get_running_loop().run_in_executor(None, copy_context().run, run)
    except (RuntimeError, OSError):  # it stays in the queue all the same, for the next thread that there is
        here = True
        return work(*args, **kwargs)
    return cast("T", await answer)
