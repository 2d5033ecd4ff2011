"""Waiting, always with a bound: a condition in, its truth out, or a failure that says what was waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")

PATIENCE = 20.0
"""Seconds that only something that hangs can take."""
_PAUSE = 0.01


def wait_until(condition: Callable[[], T], what: str, *, within: float = PATIENCE) -> T:
    """Blocks until the condition holds; gives what it gave."""
    end = time.monotonic() + within
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited {within:g} s in vain for {what}")
        time.sleep(_PAUSE)
    return found


async def until(condition: Callable[[], T], what: str, *, within: float = PATIENCE) -> T:
    """The same, while the event loop goes on."""
    end = time.monotonic() + within
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited {within:g} s in vain for {what}")
        await asyncio.sleep(_PAUSE)
    return found


async def until_steady(measure: Callable[[], T], *, looks: int = 40, within: float = PATIENCE) -> T:
    """The value that a measure has when it was the same so many times in a row."""
    end = time.monotonic() + within
    seen, same = measure(), 0
    while same < looks:
        if time.monotonic() > end:
            pytest.fail(f"still changing after {within:g} s: {seen!r}")
        await asyncio.sleep(_PAUSE)
        now = measure()
        seen, same = now, same + 1 if now == seen else 0
    return seen
