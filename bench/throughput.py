"""Commands per second: workers that call `bash.run("true")` one after another without a pause.

Compared with the same in bare asyncio and with C threads that do nothing else. Also measured: how long a command waits
behind many abandoned ones. As a program (`python -m bench.throughput WORKERS COUNT`) it is one of several hosts: it
times itself, once for each byte on stdin.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

from bench.foundation import run_with_asyncio
from bench.measure import Answering, Floor, Once, Row, medians, ms, time_call
from nacre import Bash

WORKERS = (1, 2, 8)
HOSTS = 2
BATCH = 200
ROUNDS = 15
GIVEN_UP = 1000
_SHORT_TIMEOUT_S = 0.005


async def batch(way: Callable[[], Awaitable[object]], workers: int, count: int = BATCH) -> None:
    todo = iter(range(count))

    async def work() -> None:
        for _ in todo:
            await way()

    await asyncio.gather(*(work() for _ in range(workers)))


async def rows() -> list[Row]:
    bash = Bash()
    await bash.run("true")
    rates = [row for workers in WORKERS for row in await _measure_with_workers(workers, bash)]
    return [*rates, *await _hosts(), *await _measure_after_abandoned(bash)]


async def _measure_with_workers(workers: int, bash: Bash) -> list[Row]:
    rivals: dict[str, Once] = {
        "nacre": time_call(lambda: batch(lambda: bash.run("true"), workers)),
        "`asyncio.create_subprocess_exec().communicate()`": time_call(lambda: batch(run_with_asyncio, workers)),
    }
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(FileNotFoundError):  # no compiler, no C baseline: `foundation` reports that
            floor = Floor("true", workers, BATCH)
            stack.callback(floor.close)
            rivals[f"C `posix_spawn` + `waitpid`, {_count(workers, 'thread')}"] = floor.once
        took = await medians(rivals, ROUNDS, warm_up=1)
    nacre = took.pop("nacre")
    rows = [Row(f'`bash.run("true")` without a pause, {_count(workers, "worker")}', _rate(nacre))]
    for name, goal in zip(took, ("≥ 0.8", "≥ 0.4"), strict=False):
        rows.append(Row(f"… against {name}", _rate(took[name]), f"{took[name] / nacre:.2f} × its speed", goal))
    return rows


async def _hosts() -> list[Row]:
    """Measure the same number of workers in one process and in several, each with its own keeper."""
    most = WORKERS[-1]
    alone = [Host(most, BATCH)]
    several = [Host(most // HOSTS, BATCH // HOSTS) for _ in range(HOSTS)]
    try:
        took = await medians({"one": _at_once(alone), "several": _at_once(several)}, ROUNDS, warm_up=1)
    finally:
        for host in (*alone, *several):
            host.close()
    ratio = took["one"] / took["several"]
    what = f"{most} workers in {HOSTS} programs, against as many in one"
    return [Row(what, _rate(took["several"]), f"{ratio:.2f} × its speed")]


async def _measure_after_abandoned(bash: Bash) -> list[Row]:
    """Measure that abandoned runs do not delay others."""

    async def give_up() -> None:
        run = asyncio.create_task(bash.run("sleep 60"))
        await asyncio.sleep(_SHORT_TIMEOUT_S)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)

    taken = []
    for _ in range(3):
        await batch(give_up, WORKERS[-1], GIVEN_UP)
        taken.append(await time_call(lambda: bash.run("true"))())
    what = f'`bash.run("true")` behind {GIVEN_UP:,} runs that were given up after {ms(_SHORT_TIMEOUT_S)}'
    return [Row(what, ms(statistics.median(taken)), "", "≤ 1 s")]


class Host(Answering):
    """This module as a program."""

    def __init__(self, workers: int, count: int) -> None:
        super().__init__(sys.executable, "-m", "bench.throughput", str(workers), str(count))


def _at_once(hosts: list[Host]) -> Once:
    async def once() -> float:
        for host in hosts:
            host.begin()
        return max(host.end() for host in hosts)

    return once


def _rate(seconds: float) -> str:
    return f"{BATCH / seconds:.0f}/s"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


async def _answer(workers: int, count: int) -> None:
    bash = Bash()
    await bash.run("true")
    while await asyncio.to_thread(sys.stdin.read, 1):
        start = time.perf_counter_ns()
        await batch(lambda: bash.run("true"), workers, count)
        print(time.perf_counter_ns() - start, flush=True)


if __name__ == "__main__":
    asyncio.run(_answer(*map(int, sys.argv[1:])))
