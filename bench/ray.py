"""Cost and benefit of a cluster: short commands over three nodes on this machine, compared with the local engine.

The nodes share the cores that the local engine has for itself, so throughput here is a lower bound, and the added
latency is the figure that counts. Needs Ray, which `make test-ray` installs: `.venv-ray/bin/python -m bench ray`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from bench.measure import Row, medians, ms, time_call
from nacre import Bash, Cancel, ToolContext
from nacre.engines import Engine
from nacre.result import Started

COMMANDS = 1000
AT_ONCE = 32
_ROUNDS = 200
_QUEUED = 10_000
_FLOOD = 200_000_000
_WAITING = 1000
_FIRST = 5
_WAKE_INTERVAL_S = 0.01
_IDLE = 0.05
"""CPU seconds per half second that count as idle: Ray's own threads need some."""


@asynccontextmanager
async def cluster() -> AsyncIterator[Engine]:
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    import ray
    from ray.cluster_utils import Cluster

    from nacre.engines.ray import RayEngine

    nodes = {"num_cpus": 4, "object_store_memory": 80 * 1024 * 1024}
    made = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **nodes})
    try:
        for _ in range(2):
            made.add_node(**nodes)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        engine = RayEngine(num_cpus=0.01)
        yield engine
        await engine.aclose()
    finally:
        ray.shutdown()
        made.shutdown()


async def rows() -> list[Row]:
    async with cluster() as engine:
        far, near = Bash(engine=engine), Bash()
        return [
            *await _one_by_one(near, far),
            *await _many(near, far),
            *await _flood(near, far),
            *await _first(),
            *await _reservations(),
            *await _measure_waiting(),
            *await _queue(max_running=None),
            *await _queue(max_running=2 * _QUEUED),
        ]


async def _one_by_one(near: Bash, far: Bash) -> list[Row]:
    await asyncio.gather(*(far.run("sleep 1") for _ in range(AT_ONCE)))  # start agents on all nodes
    took = await medians(
        {"near": time_call(lambda: near.run("true")), "far": time_call(lambda: far.run("true"))}, _ROUNDS, warm_up=20
    )
    added = took["far"] - took["near"]
    return [
        Row('`bash.run("true")`, local', ms(took["near"])),
        Row("… on a node of the cluster", ms(took["far"]), f"+ {ms(added)}"),
    ]


async def _many(near: Bash, far: Bash) -> list[Row]:
    rates = {"near": await _rate(near), "far": await _rate(far)}
    return [
        Row(f"{COMMANDS:,} × `true`, {AT_ONCE} at once, local", f"{rates['near']:.0f}/s"),
        Row(
            "… over three nodes, which share its cores",
            f"{rates['far']:.0f}/s",
            f"{rates['far'] / rates['near']:.2f} ×",
        ),
    ]


async def _rate(bash: Bash) -> float:
    places = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with places:
            assert (await bash.run("true")).exit_code == 0

    start = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(COMMANDS)))
    return COMMANDS / (time.perf_counter() - start)


async def _flood(near: Bash, far: Bash) -> list[Row]:
    command = f"head -c {_FLOOD} /dev/zero"
    took = {}
    for name, bash in (("near", near), ("far", far)):
        run = time_call(partial(bash.run, command))
        took[name] = statistics.median([await run() for _ in range(3)])
    speed = {name: _FLOOD / seconds / 1e6 for name, seconds in took.items()}
    return [Row(f"`{command}` from a node", f"{speed['far']:.0f} MB/s", f"{speed['far'] / speed['near']:.2f} × local")]


async def _first() -> list[Row]:
    """Measure the first command on a node without an agent: each engine has its own."""
    import ray

    from nacre.engines.ray import RayEngine

    took = []
    for _ in range(_FIRST):
        engine = RayEngine(num_cpus=0.01, node=ray.get_runtime_context().get_node_id())
        took.append(await time_call(lambda engine=engine: Bash(engine=engine).run("true"))())  # type: ignore[misc]
        await engine.aclose()
    return [Row("an engine's first command on a node", f"{statistics.median(took):.1f} s")]


async def _reservations() -> list[Row]:
    from nacre.engines.ray import RayEngine

    engine = RayEngine(num_cpus=0.001)
    leases = (await engine.slots()).leases
    start = time.perf_counter()
    held = await asyncio.gather(*(leases.acquire(Cancel()) for _ in range(_WAITING)))
    took = time.perf_counter() - start
    for lease in held:
        assert lease is not None
        leases.release(lease)
    await engine.aclose()
    return [Row(f"{_WAITING:,} reservations, asked for at once by one driver", f"{_WAITING / took:.0f}/s")]


async def _measure_waiting() -> list[Row]:
    """Measure memory and descriptors of commands that only wait, all on one node."""
    import ray

    from nacre.engines.ray import RayEngine

    engine = RayEngine(num_cpus=0.001, node=ray.get_runtime_context().get_node_id())
    bash, cancel = Bash(engine=engine, max_running=_WAITING), Cancel()
    keeper = (await bash.run("echo $PPID")).out.text.strip()
    agent = Path("/proc", keeper, "stat").read_text().rpartition(")")[2].split()[1]
    before, kept = (_memory("self"), _memory(agent)), _memory(keeper)
    began, all_have = 0, asyncio.Event()

    async def wait() -> None:
        nonlocal began
        async for event in bash.stream("sleep 600", ToolContext(cancel=cancel)):
            began += isinstance(event, Started)
            if began == _WAITING:
                all_have.set()

    start = time.perf_counter()
    runs = [asyncio.create_task(wait()) for _ in range(_WAITING)]
    await asyncio.wait([asyncio.create_task(all_have.wait()), *runs], return_when=asyncio.FIRST_COMPLETED)
    took = time.perf_counter() - start
    grown = [after - earlier for after, earlier in zip((_memory("self"), _memory(agent)), before, strict=True)]
    files = len(os.listdir(f"/proc/{agent}/fd"))
    start = time.perf_counter()
    cancel.cancel()
    await asyncio.gather(*runs)
    ended = time.perf_counter() - start
    await engine.aclose()
    return [
        Row("an agent that does nothing", f"{before[1] / 1024:.0f} MB"),
        Row("… its keeper", f"{kept / 1024:.0f} MB"),
        Row(f"{_WAITING:,} that wait at once on one node, until all have begun", f"{took:.1f} s"),
        Row("… memory of the driver, each", f"{grown[0] / _WAITING:.0f} KB"),
        Row("… memory of the agent, each", f"{grown[1] / _WAITING:.0f} KB"),
        Row("… descriptors of the agent, each", f"{files / _WAITING:.1f}"),
        Row("… all of them cancelled, and ended on their node", f"{ended:.1f} s"),
    ]


async def _queue(max_running: int | None) -> list[Row]:
    """Queue far more commands than can run: before the engine, or inside it if `max_running` admits them all."""
    from nacre.engines.ray import RayEngine

    full = RayEngine(num_cpus=1000, patience=600)
    bash, cancel = Bash(engine=full, max_running=max_running), Cancel()
    await full.slots()
    before, used = _memory("self"), time.process_time()
    delay_meter = LoopDelayMeter()
    runs = [asyncio.create_task(bash.run("true", ToolContext(cancel=cancel))) for _ in range(_QUEUED)]
    idle = False
    while not idle:
        last = time.process_time()
        await asyncio.wait(runs, timeout=0.5)
        idle = time.process_time() - last < _IDLE
    took, grown = last - used, _memory("self") - before
    stalled = await delay_meter.stop()
    cancel.cancel()
    await asyncio.gather(*runs)
    await full.aclose()
    limit = "" if max_running is None else f", `max_running={max_running}`"
    return [
        Row(
            f"{_QUEUED:,} in a queue, none of which has a place{limit}: the driver's CPU time until all wait",
            f"{took:.1f} s",
        ),
        Row("… the longest that its event loop stood still", f"{stalled:.2f} s"),
        Row("… memory of the driver, each", f"{grown / _QUEUED:.1f} KB"),
    ]


class LoopDelayMeter:
    """Measures the worst delay of an event loop that is to wake every ten milliseconds."""

    def __init__(self) -> None:
        self._worst = 0.0
        self._task = asyncio.create_task(self._measure())

    async def _measure(self) -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(_WAKE_INTERVAL_S)
            self._worst = max(self._worst, time.perf_counter() - start - _WAKE_INTERVAL_S)

    async def stop(self) -> float:
        self._task.cancel()
        await asyncio.wait([self._task])
        return self._worst


def _memory(process: str) -> int:
    """Return the current memory of a process (PSS), in KB."""
    rows = Path("/proc", process, "smaps_rollup").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
