"""A clock that is set while tasks run, by hours or by years.

The machine's own clock is not touched. Changed is what nacre sees of it: `time.time` in a separate process, and the
timestamps of the files in its task directory, which look as if they were written before the jump. A keeper reads the
wall clock only once, to record when a task ended; deadlines and durations use the monotonic clock, which cannot be set.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from pathlib import Path

from faults.count import COUNT, HANG_TIMEOUT_S
from faults.round import Round, need
from nacre import Bash, Request, ToolContext
from nacre.result import Exited, TimedOut
from nacre.tasks import Tasks

_HOUR, _YEAR = 3600.0, 365 * 86400.0
_PROGRAM = "import sys; from faults.clock import run_with_jumping_clock; run_with_jumping_clock(*sys.argv[1:])"


async def jumps(round: Round) -> None:
    """No task is reported lost or cleaned up, no timeout is early or late, and no duration is negative."""
    said = await round.program(_PROGRAM, round.store, round.random.randrange(10**6))
    need(said == "good\n", f"it printed {said!r}")
    ended = [task.outcome for task in round.tasks.list()]
    need(ended == [Exited(7)] * 2, f"the tasks: {ended}")


def run_with_jumping_clock(store: str, seed: str) -> None:
    """Run commands and tasks while the clock jumps."""
    chance, real, shift = random.Random(seed), time.time, 0.0
    time.time = lambda: real() + shift

    def jump() -> None:
        nonlocal shift
        now = chance.choice((-_YEAR, -_HOUR, -5.0, 0.0, 5.0, _HOUR, _YEAR))
        for path in (*Path(store).rglob("*"), Path(store)):
            if path.exists():
                os.utime(path, (path.stat().st_mtime - now,) * 2)
        shift += now

    async def program() -> None:
        bash, tasks, ctx = Bash(), Tasks(store), ToolContext(output_dir=store)
        jump()
        started = [await bash.run(Request(COUNT, mode="background"), ctx) for _ in range(2)]
        before = time.monotonic()
        running = asyncio.ensure_future(bash.run(Request("sleep 300", timeout=0.3)))
        while not running.done():
            await asyncio.sleep(0.05)
            jump()
            for task in tasks.list():
                assert task.alive or task.outcome == Exited(7), task
                assert min(task.duration, task.idle or 0.0) >= 0, task
        late = await running
        assert isinstance(late.outcome, TimedOut), late
        assert 0.3 <= time.monotonic() - before < HANG_TIMEOUT_S > late.duration >= 0.3, late
        ids = [result.task.id for result in started if result.task is not None]
        waited = await tasks.wait(ids, timeout=HANG_TIMEOUT_S)
        assert [task.outcome for task in waited.tasks] == [Exited(7)] * 2, waited
        print("good")

    try:
        asyncio.run(program())
    finally:
        time.time = real
