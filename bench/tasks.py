"""Cost of background tasks: starting one compared with a foreground command, listing, waiting, killing."""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from bench.measure import Once, Row, medians, ms, time_call
from nacre import Bash, Limits, Request, ToolContext
from nacre.tasks import Port, Tasks

ROUNDS = 150
_STANDBY_START_S = 0.01
"""Seconds until the next standby shell or keeper has been started."""
_LISTED = 1000


def _time_run(bash: Bash, request: Request, ctx: ToolContext) -> Once:
    async def once() -> float:
        await asyncio.sleep(_STANDBY_START_S)
        return await time_call(lambda: bash.run(request, ctx))()

    return once


async def rows() -> list[Row]:
    place = tempfile.mkdtemp(prefix="nacre-bench-")
    try:
        return [
            *await _may_become_one(f"{place}/none"),
            *await _starts(f"{place}/starts"),
            *await _life(f"{place}/life"),
            *await _listing(f"{place}/many"),
        ]
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def _may_become_one(place: str) -> list[Row]:
    """Measure the extra cost of a command that may become a task and does not."""
    bash, found = Bash(), []
    for access in ("unrestricted", "restricted"):
        ctx = ToolContext(output_dir=place, access=access)
        took = await medians(
            {
                "not": _time_run(bash, Request("true"), ctx),
                "may": _time_run(bash, Request("true", yield_after=60), ctx),
            },
            ROUNDS,
        )
        goal = "≤ 1.5" if access == "unrestricted" else ""
        ratio = f"{took['may'] / took['not']:.2f} ×"
        found.append(
            Row(f"`true` that may become a task, against one that may not, {access}", ms(took["may"]), ratio, goal)
        )
    return found


async def _starts(place: str) -> list[Row]:
    bash, ctx = Bash(), ToolContext(output_dir=place, limits=Limits(tasks=100_000))
    true = shutil.which("true") or "/bin/true"
    foreground, background = Request(true), Request("exec sleep 2", mode="background")
    took = await medians(
        {
            "foreground": _time_run(bash, foreground, ctx),
            "background": _time_run(bash, background, ctx),
        },
        ROUNDS,
    )
    return [
        Row("`/bin/true` in the foreground, from the call to its result", ms(took["foreground"])),
        Row(
            "`exec sleep` in the background, from the call to its handle, its program known to run",
            ms(took["background"]),
            f"{took['background'] / took['foreground']:.2f} ×",
            "≤ 1.5",
        ),
    ]


async def _life(place: str) -> list[Row]:
    bash, ctx, tasks = Bash(), ToolContext(output_dir=place), Tasks(place)

    async def begin(command: str) -> str:
        result = await bash.run(Request(command, mode="background"), ctx)
        assert result.task is not None
        return result.task.id

    late: list[float] = []
    for _ in range(20):
        ids = [await begin(f"sleep {seconds}; date +%s.%N") for seconds in ("0.2", "30", "30")]
        waited = await tasks.wait(ids, any=True, timeout=30)
        late.append(time.time() - float(tasks.output(waited.met[0]).text))
        for id in ids[1:]:
            await tasks.kill(id, grace=0)

    killing: list[float] = []
    serving: list[float] = []
    for number in range(5):
        port = 18765 + number
        began = time.perf_counter()
        server = await begin(f"exec python3 -m http.server {port} --bind 127.0.0.1")
        await tasks.wait(server, until=Port(port), timeout=30)
        serving.append(time.perf_counter() - began)
        began = time.perf_counter()
        await tasks.kill(server)
        killing.append(time.perf_counter() - began)

    flood = await begin("yes")
    await asyncio.sleep(1)
    before = tasks.get(flood)
    await asyncio.sleep(4)
    after = tasks.get(flood)
    keeper = _keeper_of(place, flood)
    memory = _resident(keeper)
    size = sum(entry.stat().st_size for entry in os.scandir(Path(place, flood)) if entry.is_file())
    await tasks.kill(flood, grace=0)
    return [
        Row(
            "`wait` for any of three: after the first has printed its last", ms(statistics.median(late)), "", "≤ 200 ms"
        ),
        Row("a web server in Python until its port answers", ms(statistics.median(serving))),
        Row("ending it", ms(statistics.median(killing)), "", "≤ 1 s"),
        Row("`yes` as a task: what its log takes in", f"{(after.bytes - before.bytes) / 4e6:.0f} MB/s"),
        Row("… and what is on the disk after that", f"{size / 1e6:.1f} MB", "", "≤ 67.1 MB"),
        Row("… memory of its keeper", f"{memory / 1e6:.1f} MB"),
    ]


async def _listing(place: str) -> list[Row]:
    bash, ctx, tasks = Bash(), ToolContext(output_dir=place, limits=Limits(tasks=100_000)), Tasks(place)
    for _ in range(_LISTED):
        await bash.run(Request("echo done", mode="background"), ctx)
    await tasks.wait([task.id for task in tasks.list(all=False)], timeout=60)
    taken = []
    for _ in range(7):
        began = time.perf_counter()
        assert len(tasks.list()) == _LISTED
        taken.append(time.perf_counter() - began)
    return [Row(f"listing {_LISTED:,} tasks that have ended", ms(statistics.median(taken)), "", "≤ 100 ms")]


def _keeper_of(place: str, task: str) -> int:
    import json

    keeper: int = json.loads(Path(place, task, "process.json").read_text())["keeper"][0]
    return keeper


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0
