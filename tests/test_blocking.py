"""A coroutine for code that has no event loop, or stands in one."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

from nacre.blocking import blocking

WHO: ContextVar[str] = ContextVar("who")


async def who() -> str:
    await asyncio.sleep(0)
    return WHO.get()


def test_a_coroutine_sees_the_context_of_who_waits_for_it() -> None:
    WHO.set("me")
    assert blocking(who()) == "me"


async def test_inside_a_running_loop_it_sees_it_too() -> None:
    WHO.set("me, in a loop")
    assert blocking(who()) == "me, in a loop"
