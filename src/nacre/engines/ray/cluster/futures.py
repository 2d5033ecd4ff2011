"""Waiting that ends with whoever is to answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from nacre.engines.ray.cluster.connection import ClusterConnection

T = TypeVar("T")

_POLL_INTERVAL_S = 3.0
"""Seconds between looks whether an answer can come."""


def call_in_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """What Ray gives that can only be waited for by blocking: in a thread that nothing waits for, since it may take a
    minute where nobody answers, and a program is not to end later for that."""
    answer: Future[T] = Future()

    def ask() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    answer.set_running_or_notify_cancel()  # whoever goes away leaves it to itself
    threading.Thread(target=ask, name="nacre-ask", daemon=True).start()
    return ignore_result(asyncio.wrap_future(answer))


def ignore_result(call: asyncio.Future[T]) -> asyncio.Future[T]:
    """If it fails when nobody waits any more, nothing is said about that."""
    call.add_done_callback(lambda done: done.cancelled() or done.exception())
    return call


async def wait_while_connected(connection: ClusterConnection, call: asyncio.Future[T]) -> T:
    """What Ray gives, waited for while there is a connection, and a head that answers. LeftCluster, HeadSilent."""
    while not (await asyncio.wait([call], timeout=_POLL_INTERVAL_S))[0]:
        connection.check()
        await asyncio.to_thread(connection.head.check)
    return call.result()
