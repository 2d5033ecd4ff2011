"""An hour of a mixed load in one process: does the memory of the host and of its keeper stay constant?

The load is the kinds of the soak test and floods of 60 MB, eight at a time. As a program (`python -m bench.memory
MINUTES`) it is the host, in a process with private temporary and state directories, and prints one sample per line.
Nothing is garbage-collected or trimmed for a sample: it is what `ps` would show.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.kinds import KINDS, Kind, Soaked
from bench.measure import HERE, Row
from nacre import Bash
from nacre.keeper.client.connection import keeper_connection
from nacre.result import Exited
from nacre.tasks import Tasks
from tests.support.census import memory

MINUTES = float(os.environ.get("NACRE_BENCH_MINUTES", "60"))
"""Duration of the measurement."""
WORKERS = 8
GROWTH_MAX = 1.10
"""Maximum ratio of the mean of the last third of the time to that of the second; the first third is for warming up."""
_LINES = 12
_FLOOD_BYTES = 60_000_000
_SAMPLE_PAUSE_S = 1.0
_CLEAN_PAUSE_S = 30.0
_TASK_AGE_S = 20.0
"""Seconds after which ended tasks are removed."""


@dataclass(frozen=True)
class Sample:
    """One sample: seconds since the start, commands that have ended, resident bytes."""

    seconds: float
    commands: int
    wrong: dict[str, int]
    """Commands with an unexpected outcome, by kind and by the notes of their results."""
    host: int
    keeper: int


async def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as place:
        for name in ("tmp", "state"):
            Path(place, name).mkdir()
        env = {**os.environ, "TMPDIR": f"{place}/tmp", "XDG_STATE_HOME": f"{place}/state"}
        program = [sys.executable, "-m", "bench.memory", str(MINUTES)]
        with subprocess.Popen(program, cwd=HERE.parent, env=env, stdout=subprocess.PIPE, text=True) as host:
            assert host.stdout is not None
            samples = [Sample(**json.loads(line)) for line in host.stdout]
        assert host.returncode == 0
    return [*_lines(samples), *_verdicts(samples)]


def _lines(samples: list[Sample]) -> Iterator[Row]:
    length = MINUTES * 60 / _LINES
    for number in range(_LINES):
        part = [s for s in samples if number * length <= s.seconds < (number + 1) * length]
        if part:
            what = f"minutes {number * length / 60:g} to {(number + 1) * length / 60:g}, {part[-1].commands:,} commands"
            yield Row(f"{what}: host, keeper", f"{_amounts(part, 'host')}, {_amounts(part, 'keeper')}")


def _amounts(part: list[Sample], who: str) -> str:
    amounts = [getattr(sample, who) / 1e6 for sample in part]
    return f"{statistics.fmean(amounts):.1f} MB ({min(amounts):.1f} to {max(amounts):.1f})"


def _verdicts(samples: list[Sample]) -> Iterator[Row]:
    wrong = samples[-1].wrong
    figure = "; ".join(f"{count} {name}" for name, count in sorted(wrong.items())) or "none"
    yield Row("… commands that did not end as they had to", figure, "", "none", holds=not wrong)
    third = MINUTES * 60 / 3
    for who in ("host", "keeper"):
        second, last = (
            statistics.fmean(getattr(s, who) for s in samples if start <= s.seconds < start + third)
            for start in (third, 2 * third)
        )
        ratio = last / second
        figure = f"{second / 1e6:.1f} → {last / 1e6:.1f} MB"
        what = f"… mean of the {who}, second third of the time → last"
        yield Row(what, figure, f"{ratio:.2f}", f"≤ {GROWTH_MAX:.2f}", holds=ratio <= GROWTH_MAX)


async def _flood(here: Soaked) -> bool:
    """Far more output than is kept in memory or on disk."""
    result = await here.bash.run(f"yes | head -c {_FLOOD_BYTES}")
    if result.spill is not None:
        os.unlink(result.spill.path)
    return result.outcome == Exited(0) and result.both.total_bytes == _FLOOD_BYTES


MIXED = {**KINDS, "flood": Kind(_flood, 1)}


async def main(minutes: float) -> None:
    bash, tasks = Bash(), Tasks()
    place, choice = Soaked(bash, tasks), random.Random(1)
    names, weights = list(MIXED), [kind.weight for kind in MIXED.values()]
    made, wrong = Counter[str](), Counter[str]()
    start = time.monotonic()

    async def work() -> None:
        while time.monotonic() < start + minutes * 60:
            name = choice.choices(names, weights)[0]
            if not await MIXED[name].run(place):
                reason = place.reasons.pop() if place.reasons else "no reason known"
                wrong[f"{name}: {reason}"] += 1
                print(f"unexpected end of {name}: {reason}", file=sys.stderr)
            made[name] += 1

    async def look() -> None:
        cleaned = start
        while (now := time.monotonic()) < start + minutes * 60:
            host, keeper = memory(os.getpid())[0], memory(keeper_connection().pid)[0]
            sample = Sample(now - start, made.total(), dict(wrong), host, keeper)
            print(json.dumps(asdict(sample)), flush=True)
            if now > cleaned + _CLEAN_PAUSE_S:
                cleaned = now
                tasks.clean(older_than=_TASK_AGE_S)
            await asyncio.sleep(_SAMPLE_PAUSE_S)

    await bash.run("true")
    await asyncio.gather(look(), *(work() for _ in range(WORKERS)))


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
