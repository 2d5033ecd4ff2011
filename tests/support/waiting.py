"""Waiting for conditions, always with a bound: a condition that stays false fails the test with a description."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")

HANG_TIMEOUT_S = 100.0
"""Bound in seconds that only a hang exceeds, even on a machine with fifty times its normal load."""
TIME_LIMITS_S = (1, 8, 60)
"""Timeouts for a command to try one after another, until it reaches the place where it waits before its time is up. On
a busy machine that may take long, and only then does the test prove anything about the end."""
_POLL_INTERVAL_S = 0.01
"""Seconds between two polls, for conditions without an event: the only time that a test sleeps."""


def wait_until(condition: Callable[[], T], what: str, *, within: float = HANG_TIMEOUT_S) -> T:
    """Block until the condition holds; return its value."""
    end = time.monotonic() + within
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited {within:g} s for {what}")
        time.sleep(_POLL_INTERVAL_S)
    return found


def find_lasting(look: Callable[[], T], *, within: float = HANG_TIMEOUT_S) -> T:
    """Poll until `look` returns something false or the time is up; return its last value."""
    end = time.monotonic() + within
    while (left := look()) and time.monotonic() < end:
        time.sleep(_POLL_INTERVAL_S)
    return left


async def until(condition: Callable[[], T], what: str, *, within: float = HANG_TIMEOUT_S) -> T:
    """Wait until the condition holds, while the event loop runs; return its value."""
    if not (found := await wait_at_most(within, condition)):
        pytest.fail(f"waited {within:g} s for {what}")
    return found


async def wait_at_most(seconds: float, condition: Callable[[], T]) -> T:
    """Wait for the condition for at most `seconds`; return its last value."""
    end = time.monotonic() + seconds
    found = condition()
    while not found and time.monotonic() < end:
        await asyncio.sleep(_POLL_INTERVAL_S)
        found = condition()
    return found


async def turn_loop(times: int = 1) -> None:
    """Let the event loop run all ready callbacks, `times` times."""
    for _ in range(times):
        await asyncio.sleep(0)


async def until_steady(measure: Callable[[], T], *, looks: int = 40, within: float = HANG_TIMEOUT_S) -> T:
    """Return the value of a measure once it was the same `looks` times in a row."""
    end = time.monotonic() + within
    seen, same = measure(), 0
    while same < looks:
        if time.monotonic() > end:
            pytest.fail(f"still changing after {within:g} s: {seen!r}")
        await asyncio.sleep(_POLL_INTERVAL_S)
        now = measure()
        seen, same = now, same + 1 if now == seen else 0
    return seen
