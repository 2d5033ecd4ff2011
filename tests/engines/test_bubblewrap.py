"""What is bubblewrap's own."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash
from tests.engines.conftest import Place, engine_named

pytestmark = pytest.mark.linux


@pytest.fixture
def bwrap(directory: Path) -> Place:
    return Place(Bash(engine=engine_named("bwrap")), directory)


class Counting(ThreadPoolExecutor):
    asked = 0

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        self.asked += 1
        return super().submit(*args, **kwargs)


async def test_only_the_first_run_needs_a_thread(bwrap: Place) -> None:
    threads = Counting()
    asyncio.get_running_loop().set_default_executor(threads)
    for _ in range(5):
        await bwrap.run("true", access="restricted")
    assert threads.asked == 1
