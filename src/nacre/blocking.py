"""A coroutine for code that has no event loop: run to its end, in a thread of its own if there is a loop after all."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


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
