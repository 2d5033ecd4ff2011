"""Thousands of commands at once: correctness of each answer, and the cost for the host and its keeper.

Each way runs in a separate process (`python -m bench.concurrent WAY`), so that its peak memory is its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace

from bench.foundation import run_with_asyncio
from bench.measure import HERE, Row, ms
from nacre import Bash
from nacre.execution.finish import collect_result
from nacre.keeper.client.connection import keeper_connection
from tests.support.census import fds, memory

RUNS = 2000
ROUNDS = 3
USUAL = 1024
"""Default limit of file descriptors per process on most systems."""
_FDS_PER_RUN = 5
"""Three, plus a margin."""
_POLL_INTERVAL_S = 0.1


@dataclass(frozen=True)
class Account:
    seconds: float
    exact: int
    """Runs whose output is exactly as expected."""
    host: int
    """Peak resident memory, in bytes."""
    host_fds: int
    """Peak number of descriptors."""
    keeper: int = 0
    keeper_fds: int = 0
    running: int = 0
    """Peak number of concurrent runs: if starting takes long, the first have exited before the last are started."""


async def rows() -> list[Row]:
    nacre, bare = [], []
    for _ in range(ROUNDS):
        nacre.append(_measure_in_child("nacre"))
        bare.append(_measure_in_child("asyncio"))
    few = _measure_in_child("default", files=USUAL)
    took = {name: statistics.median(each.seconds for each in all) for name, all in (("nacre", nacre), ("bare", bare))}
    worst = Account(*(max(getattr(each, name) for each in nacre) for name in asdict(nacre[0])))
    exact = min(each.exact for each in nacre)
    ratio = f"{took['nacre'] / took['bare']:.2f} ×"
    return [
        Row(f"{RUNS:,} × `sleep 2; echo $i` at once: exact", f"{exact:,}", "", "all", holds=exact == RUNS),
        Row("… running at the same time, at most", f"{worst.running:,}"),
        Row("… from the first call to the last result", ms(took["nacre"])),
        Row("… against bare asyncio", ms(took["bare"]), ratio, "≤ 1.5"),
        Row("… memory of the host, at most", _mb(worst.host), f"asyncio: {_mb(max(each.host for each in bare))}"),
        Row("… memory of the keeper, at most", _mb(worst.keeper), "", "≤ 30 MB"),
        Row("… descriptors of the host, and of the keeper, at most", f"{worst.host_fds:,}, {worst.keeper_fds:,}"),
        Row(
            f"the same where {USUAL:,} descriptors are all there are: they queue; exact",
            f"{few.exact:,}",
            "",
            "all",
            holds=few.exact == RUNS,
        ),
        Row("… from the first call to the last result", ms(few.seconds)),
        Row("… descriptors of the host, and of the keeper, at most", f"{few.host_fds:,}, {few.keeper_fds:,}"),
    ]


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _measure_in_child(way: str, files: int | None = None) -> Account:
    """Measure one way in a child process. `files`: limit of file descriptors; None: the hard limit."""

    def limit() -> None:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1] if files is None else files
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    program = [sys.executable, "-m", "bench.concurrent", way]
    said = subprocess.run(program, cwd=HERE.parent, preexec_fn=limit, stdout=subprocess.PIPE, check=True).stdout
    return Account(**json.loads(said))


class Count:
    """Counts entries now and at most."""

    now = most = 0

    def __enter__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        self.now -= 1


async def main(way: str) -> None:
    if way == "asyncio":
        told = await account(run_with_asyncio)
    else:
        room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _FDS_PER_RUN
        bash = Bash() if way == "default" else Bash(max_running=min(RUNS, room))
        await bash.run("true")
        running = Count()

        async def run(text: str) -> bytes:
            events = bash.stream(text)
            await anext(events)  # the command has started
            with running:
                return (await collect_result(events)).output.encode()

        told = await account(run, keeper_connection().pid)
        told = replace(told, running=running.most, keeper=memory(keeper_connection().pid)[1])
    print(json.dumps(asdict(told)))


async def account(run: Callable[[str], Awaitable[bytes]], keeper: int | None = None) -> Account:
    most = {pid: 0 for pid in (os.getpid(), keeper) if pid is not None}

    async def look() -> None:
        while True:
            for pid in most:
                most[pid] = max(most[pid], fds(pid) or 0)
            await asyncio.sleep(_POLL_INTERVAL_S)

    looking = asyncio.create_task(look())
    start = time.perf_counter()
    said = await asyncio.gather(*(run(f"sleep 2; echo {number}") for number in range(RUNS)))
    took = time.perf_counter() - start
    looking.cancel()
    exact = sum(output == b"%d\n" % number for number, output in enumerate(said))
    host = memory(os.getpid())[1]
    return Account(took, exact, host, most[os.getpid()], keeper_fds=0 if keeper is None else most[keeper])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
