"""Running coroutines from code without or inside an event loop, and running work in a separate thread."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import NoReturn

import pytest

from nacre.base.threads import block_on, run_in_thread
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until

WHO: ContextVar[str] = ContextVar("who")


async def read_who() -> str:
    await turn_loop()
    return WHO.get()


def test_block_on_keeps_the_callers_context() -> None:
    WHO.set("me")
    assert block_on(read_who()) == "me"


async def test_block_on_inside_a_running_loop_keeps_the_context() -> None:
    WHO.set("me, in a loop")
    assert block_on(read_who()) == "me, in a loop"


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make every thread start fail, as at the process limit of the user."""

    def refuse(*_: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    return monkeypatch


async def test_work_runs_once_when_no_thread_can_be_started(
    no_threads: pytest.MonkeyPatch,
) -> None:
    done: list[int] = []
    await run_in_thread(done.append, 1)
    no_threads.undo()
    await run_in_thread(done.append, 2)
    assert done == [1, 2]


async def test_worker_thread_exits_when_its_work_is_done() -> None:
    workers = await asyncio.gather(*(run_in_thread(threading.current_thread) for _ in range(10)))
    assert threading.main_thread() not in workers
    await until(lambda: not any(worker.is_alive() for worker in workers), "the end of all of them")


async def test_work_continues_when_its_waiter_is_cancelled() -> None:
    goes_on, done = threading.Event(), threading.Event()

    def work() -> None:
        goes_on.wait(HANG_TIMEOUT_S)
        done.set()

    waiting = asyncio.create_task(run_in_thread(work))
    await turn_loop()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    goes_on.set()
    await until(done.is_set, "its end")


async def test_error_of_the_work_is_raised_without_a_retry() -> None:
    done: list[int] = []

    def fail() -> None:
        done.append(1)
        raise RuntimeError("my own")

    with pytest.raises(RuntimeError, match="my own"):
        await run_in_thread(fail)
    assert done == [1]


async def test_work_in_a_thread_sees_the_callers_context() -> None:
    WHO.set("me, beside")
    assert await run_in_thread(WHO.get) == "me, beside"
