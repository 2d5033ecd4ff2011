"""Ten thousand commands of every kind in one process; afterwards it and its keeper hold the same resources as before.

This is a check as much as a measurement: `python -m bench scale` fails if anything has grown. As a program (`python -m
bench.soak`) it is the host, in a process with private temporary and state directories.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.kinds import KINDS, Soaked
from bench.measure import HERE, Row, ms
from nacre import Bash, Request
from nacre.keeper.client.connection import keeper_connection
from nacre.tasks import Tasks
from tests.support.census import Cost, cost, memory

RUNS = 10_000
WARM_UP = 1_000
WORKERS = 8
GROWTH = 4_000_000, 2_000_000
"""Bytes by which ten thousand runs may grow the memory of the host and of the keeper: a few hundred per run."""
COUNTED = {"fds": "descriptors", "threads": "threads", "children": "children", "zombies": "zombies"}
_POLL_INTERVAL_S = 0.05
_IDLE_RUNS = 5
_QUIET_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Held:
    """Resources that must be equal before and after."""

    host: Cost
    keeper: Cost
    files: int
    """Number of files and directories in the temporary directory and the state directory."""


@dataclass(frozen=True)
class Account:
    before: Held
    after: Held
    grown: tuple[int, int]
    """Growth of resident memory of the host and of its keeper, in bytes."""
    most: tuple[int, int]
    """Peak resident memory of both, in bytes."""
    seconds: float
    kinds: dict[str, int]
    wrong: dict[str, int]
    """Runs with an unexpected outcome, by kind."""


async def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as place:
        for name in ("tmp", "state"):
            Path(place, name).mkdir()
        env = {**os.environ, "TMPDIR": f"{place}/tmp", "XDG_STATE_HOME": f"{place}/state"}
        program = [sys.executable, "-m", "bench.soak"]
        said = subprocess.run(program, cwd=HERE.parent, env=env, stdout=subprocess.PIPE, check=True).stdout
        left = len(os.listdir(f"{place}/tmp"))
    told = json.loads(said)
    before, after, kinds, wrong = told["before"], told["after"], told["kinds"], told["wrong"]
    if wrong:
        print(f"unexpected ends: {wrong}", file=sys.stderr)
    count, right = sum(kinds.values()), sum(kinds.values()) - sum(wrong.values())
    what = f"{count:,} runs of {len(kinds)} kinds, {WORKERS} at a time: ended as they had to"
    return [
        Row(what, f"{right:,}", "", "all", holds=right == count),
        Row("… in all", ms(told["seconds"])),
        *(
            _equal_row(f"… {what} of the {who}, before and after", before[who][field], after[who][field])
            for who in ("host", "keeper")
            for field, what in COUNTED.items()
        ),
        _equal_row("… temporary files, private directories, tasks, before and after", before["files"], after["files"]),
        _equal_row("… temporary files before it began, and when it has ended", 0, left),
        *(
            Row(
                f"… growth of the {who}'s memory",
                f"{grown / 1e6:.2f} MB (at most {most / 1e6:.1f} MB in all)",
                "",
                f"≤ {bound / 1e6:.0f} MB",
                holds=grown <= bound,
            )
            for who, grown, most, bound in zip(("host", "keeper"), told["grown"], told["most"], GROWTH, strict=True)
        ),
    ]


def _equal_row(what: str, before: int | None, after: int | None) -> Row:
    return Row(what, f"{before} → {after}", "", "equal", holds=before == after)


async def soak(place: Soaked, count: int, seed: int) -> tuple[Counter[str], Counter[str]]:
    """Make `count` runs with `WORKERS` workers. Return the number of runs and of wrong outcomes, by kind."""
    names = place.order(count, seed)
    made, wrong = Counter[str](), Counter[str]()

    async def work() -> None:
        for name in names:
            made[name] += 1
            if not await KINDS[name].run(place):
                wrong[name] += 1

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return made, wrong


async def calm_down(bash: Bash, tasks: Tasks) -> None:
    """Wait until every task has ended, remove them all, and let the keeper return to its idle state."""
    await tasks.wait([task.id for task in tasks.list(all=False)], timeout=_QUIET_TIMEOUT_S)
    last = await bash.run(Request("true", mode="background"))
    assert last.task is not None
    await tasks.wait(last.task.id, timeout=_QUIET_TIMEOUT_S)
    for _ in range(_IDLE_RUNS):
        await asyncio.sleep(_POLL_INTERVAL_S)
        await bash.run("true")
    tasks.clean(older_than=0, keep_bytes=0, keep=0)
    await asyncio.sleep(_POLL_INTERVAL_S)


def measure_held(keeper: int) -> Held:
    files = sum(
        len(below) + len(names)
        for root in (tempfile.gettempdir(), os.environ["XDG_STATE_HOME"])
        for _, below, names in os.walk(root)
    )
    return Held(cost(os.getpid()), cost(keeper), files)


def now_resident(keeper: int) -> tuple[int, int]:
    """Return resident memory of host and keeper, without memory that the host's allocator keeps for further large
    outputs."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):  # no glibc
        ctypes.CDLL(None).malloc_trim(0)
    return memory(os.getpid())[0], memory(keeper)[0]


async def main() -> None:
    bash, tasks = Bash(), Tasks()
    place = Soaked(bash, tasks)
    await asyncio.gather(
        *(asyncio.to_thread(time.sleep, _POLL_INTERVAL_S) for _ in range(100))
    )  # start the event loop's own threads
    await soak(place, WARM_UP, seed=0)
    keeper = keeper_connection().pid
    await calm_down(bash, tasks)
    before, resident = measure_held(keeper), now_resident(keeper)
    start = time.perf_counter()
    made, wrong = await soak(place, RUNS, seed=1)
    took = time.perf_counter() - start
    until = time.monotonic() + _QUIET_TIMEOUT_S
    await calm_down(bash, tasks)
    while (after := measure_held(keeper)) != before and time.monotonic() < until:
        await calm_down(bash, tasks)
    assert keeper_connection().pid == keeper, "the keeper was replaced during the test"
    host, kept = now_resident(keeper)
    grown = host - resident[0], kept - resident[1]
    most = memory(os.getpid())[1], memory(keeper)[1]
    print(json.dumps(asdict(Account(before, after, grown, most, took, dict(made), dict(wrong)))))


if __name__ == "__main__":
    asyncio.run(main())
