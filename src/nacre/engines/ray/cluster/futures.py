"""Await answers of Ray only as long as they can arrive."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from nacre.engines.ray.cluster.connection import ClusterConnection

T = TypeVar("T")

_POLL_INTERVAL_S = 3.0
"""Seconds between checks whether an answer can still arrive."""


def call_in_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """Run a call to Ray that blocks, in a daemon thread: without an answer it may take a minute, which must not delay
    the exit of the program."""
    answer: Future[T] = Future()

    def ask() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    answer.set_running_or_notify_cancel()  # a cancelled caller does not cancel the call
    threading.Thread(target=ask, name="nacre-ask", daemon=True).start()
    return ignore_result(asyncio.wrap_future(answer))


def ignore_result(call: asyncio.Future[T]) -> asyncio.Future[T]:
    """Mark a later exception as retrieved, so that asyncio does not log it if the caller is gone. Return `call`."""
    call.add_done_callback(lambda done: done.cancelled() or done.exception())
    return call


async def wait_while_connected(connection: ClusterConnection, call: asyncio.Future[T]) -> T:
    """Await an answer of Ray while there is a connection and the head answers. LeftCluster, HeadNotResponding."""
    while not (await asyncio.wait([call], timeout=_POLL_INTERVAL_S))[0]:
        connection.check()
        await asyncio.to_thread(connection.head.check)
    return call.result()
