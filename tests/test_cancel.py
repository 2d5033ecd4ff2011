"""The cancel switch: callbacks for the length of a block, and work that it cancels."""

from __future__ import annotations

import asyncio
import threading

import pytest

from nacre.cancel import Cancel, call_on_cancel, run_unless_cancelled
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop


def test_callback_is_called_only_inside_its_block() -> None:
    cancel, called = Cancel(), []
    with call_on_cancel(cancel, lambda: called.append("left")):
        pass
    with call_on_cancel(cancel, lambda: called.append("inside")):
        cancel.cancel()
        cancel.cancel()
    with call_on_cancel(cancel, lambda: called.append("thrown before")):
        pass
    assert called == ["inside", "thrown before"]


def test_no_switch_calls_nothing() -> None:
    called: list[str] = []
    with call_on_cancel(None, lambda: called.append("never")):
        pass
    assert called == []


async def test_work_returns_its_result_if_nobody_cancels() -> None:
    assert await run_unless_cancelled(Cancel(), asyncio.sleep(0, "done")) == "done"
    assert await run_unless_cancelled(None, asyncio.sleep(0, "done")) == "done"


async def test_switch_thrown_by_another_thread_cancels_the_work() -> None:
    cancel, cancelled = Cancel(), []

    async def work() -> str:
        threading.Thread(target=cancel.cancel).start()
        try:
            await asyncio.sleep(HANG_TIMEOUT_S)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "done"

    assert await asyncio.wait_for(run_unless_cancelled(cancel, work()), HANG_TIMEOUT_S) is None
    assert cancelled == [True]


async def test_error_of_the_work_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("so")

    with pytest.raises(ValueError, match="so"):
        await run_unless_cancelled(Cancel(), fail())


async def test_work_that_cancels_itself_is_not_taken_for_the_switch() -> None:
    async def give_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run_unless_cancelled(Cancel(), give_up())


async def test_cancelled_caller_stays_cancelled_although_the_switch_was_thrown() -> None:
    cancel = Cancel()
    caller = asyncio.ensure_future(run_unless_cancelled(cancel, asyncio.sleep(HANG_TIMEOUT_S)))
    await turn_loop()
    cancel.cancel()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
