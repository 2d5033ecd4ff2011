"""Waiting, always with a bound: a condition in, its truth out, or a failure that says what was waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")

HANG_TIMEOUT_S = 100.0
"""Seconds that only something that hangs can take, on a machine with fifty times as much to do as it can."""
TIME_LIMITS_S = (1, 8, 60)
"""Limits for a command to try one after another, until it has come to where it waits before its time is up: on a busy
machine that may take a while, and only then can a test say anything about the end."""
_POLL_INTERVAL_S = 0.01
"""Seconds between two looks, where nothing tells when to look: the only time that a test lets pass."""


def wait_until(condition: Callable[[], T], what: str, *, within: float = HANG_TIMEOUT_S) -> T:
    """Blocks until the condition holds; gives what it gave."""
    end = time.monotonic() + within
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited {within:g} s in vain for {what}")
        time.sleep(_POLL_INTERVAL_S)
    return found


def find_lasting(look: Callable[[], T], *, within: float = HANG_TIMEOUT_S) -> T:
    """What a look still finds when all that goes by itself has gone: something false, unless that took too long."""
    end = time.monotonic() + within
    while (left := look()) and time.monotonic() < end:
        time.sleep(_POLL_INTERVAL_S)
    return left


async def until(condition: Callable[[], T], what: str, *, within: float = HANG_TIMEOUT_S) -> T:
    """The same, while the event loop goes on."""
    if not (found := await seen_within(within, condition)):
        pytest.fail(f"waited {within:g} s in vain for {what}")
    return found


async def seen_within(seconds: float, condition: Callable[[], T]) -> T:
    """Wait for the condition for so long at most; return what it gave last."""
    end = time.monotonic() + seconds
    found = condition()
    while not found and time.monotonic() < end:
        await asyncio.sleep(_POLL_INTERVAL_S)
        found = condition()
    return found


async def turn_loop(times: int = 1) -> None:
    """Each time, everything in the event loop that can go on does so once."""
    for _ in range(times):
        await asyncio.sleep(0)


async def until_steady(measure: Callable[[], T], *, looks: int = 40, within: float = HANG_TIMEOUT_S) -> T:
    """The value that a measure has when it was the same so many times in a row."""
    end = time.monotonic() + within
    seen, same = measure(), 0
    while same < looks:
        if time.monotonic() > end:
            pytest.fail(f"still changing after {within:g} s: {seen!r}")
        await asyncio.sleep(_POLL_INTERVAL_S)
        now = measure()
        seen, same = now, same + 1 if now == seen else 0
    return seen
