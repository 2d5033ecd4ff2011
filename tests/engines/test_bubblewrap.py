"""What is bubblewrap's own."""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash
from nacre.result import Exited, Signalled
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


async def test_who_signals_everybody_goes_on(bwrap: Place) -> None:
    everybody = 'for p in /proc/[0-9]*; do p=${p#/proc/}; ((p == $$)) || kill -TERM "$p"; done'
    result = await bwrap.run(f"{everybody}; echo still; exit 3")
    assert (result.outcome, result.out.text) == (Exited(3), "still\n")


async def test_who_is_stopped_and_killed_has_ended(bwrap: Place) -> None:
    for end in ("kill -KILL $$", "kill -TERM $$; kill -CONT $$"):
        result = await bwrap.run(f"(kill -STOP $$; {end}) & exec sleep 300")
        assert result.outcome in (Signalled(signal.SIGKILL), Signalled(signal.SIGTERM))
