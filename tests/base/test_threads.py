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


async def who() -> str:
    await turn_loop()
    return WHO.get()


def test_a_coroutine_sees_the_context_of_who_waits_for_it() -> None:
    WHO.set("me")
    assert block_on(who()) == "me"


async def test_inside_a_running_loop_it_sees_it_too() -> None:
    WHO.set("me, in a loop")
    assert block_on(who()) == "me, in a loop"


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make every thread start fail, as at the process limit of the user."""

    def refuse(*_: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    return monkeypatch


async def test_where_no_thread_is_to_be_had_the_work_is_done_all_the_same_and_once(
    no_threads: pytest.MonkeyPatch,
) -> None:
    done: list[int] = []
    await run_in_thread(done.append, 1)
    no_threads.undo()
    await run_in_thread(done.append, 2)
    assert done == [1, 2]


async def test_no_thread_stays_that_has_done_its_work() -> None:
    workers = await asyncio.gather(*(run_in_thread(threading.current_thread) for _ in range(10)))
    assert threading.main_thread() not in workers
    await until(lambda: not any(worker.is_alive() for worker in workers), "the end of all of them")


async def test_who_goes_away_leaves_the_work_to_itself() -> None:
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


async def test_an_error_of_the_work_is_its_own_and_no_reason_to_do_it_again() -> None:
    done: list[int] = []

    def fail() -> None:
        done.append(1)
        raise RuntimeError("my own")

    with pytest.raises(RuntimeError, match="my own"):
        await run_in_thread(fail)
    assert done == [1]


async def test_work_beside_the_loop_sees_the_context_of_who_waits_for_it() -> None:
    WHO.set("me, beside")
    assert await run_in_thread(WHO.get) == "me, beside"
