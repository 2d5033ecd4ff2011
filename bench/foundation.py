"""Cost of a supervised command: start-up, one command, large output, many at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

from bench.measure import BASH, Floor, Row, medians, ms, process, time_call
from nacre import Bash, Request
from nacre.keeper.client.connection import KeeperConnection, keeper_connection

ROUNDS = 300


async def run_with_asyncio(text: str = "true") -> bytes:
    child = await asyncio.create_subprocess_exec(
        BASH, "-c", text,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    out, err = await child.communicate()
    return out + err


async def run_with_subprocess() -> None:
    subprocess.run(
        [BASH, "-c", "true"], stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True, check=True
    )


async def latency(bash: Bash) -> list[Row]:
    rivals = {
        "nacre": time_call(lambda: bash.run("true")),
        "cold": time_call(lambda: bash.run(Request("true", env={"FOR": "this call only"}))),
        "asyncio": time_call(run_with_asyncio),
        "subprocess": time_call(run_with_subprocess),
    }
    floor = None
    try:
        floor = Floor("true")
        rivals["C"] = floor.once
    except FileNotFoundError:
        print("no C compiler, so no C baseline", file=sys.stderr)
    took = await medians(rivals, ROUNDS)
    if floor is not None:
        floor.close()
    nacre, cold = took.pop("nacre"), took.pop("cold")
    names = {
        "asyncio": ("`asyncio.create_subprocess_exec().communicate()`", "≤ 1.0"),
        "subprocess": ("`subprocess.run`", ""),
        "C": ("C `posix_spawn` + `waitpid`", "≤ 1.6"),
    }
    rows = [Row('`bash.run("true")`, its shell started ahead', ms(nacre))]
    rows += [
        Row(f"… against {names[name][0]}", ms(taken), f"{nacre / taken:.2f} ×", names[name][1])
        for name, taken in took.items()
    ]
    rows.append(Row("the same with an `env` of its own: no shell started ahead fits", ms(cold)))
    rows += [Row(f"… against {names[name][0]}", ms(taken), f"{cold / taken:.2f} ×") for name, taken in took.items()]
    return rows


async def measure_sequential_runs(bash: Bash) -> list[Row]:
    async def fifty(way: Callable[[], Awaitable[object]]) -> None:
        for _ in range(50):
            await way()

    took = await medians(
        {
            "nacre": time_call(lambda: fifty(lambda: bash.run("true"))),
            "asyncio": time_call(lambda: fifty(run_with_asyncio)),
        },
        rounds=9,
        warm_up=1,
    )
    ratio = took["nacre"] / took["asyncio"]
    return [Row("50 in a row without a pause, each, against asyncio", ms(took["nacre"] / 50), f"{ratio:.2f} ×")]


async def bulk(bash: Bash) -> list[Row]:
    rows = []
    for command in ("head -c 1G /dev/zero", "dd if=/dev/zero bs=64k count=16384 status=none", "yes | head -c 500M"):
        took = await medians(
            {
                "nacre": time_call(lambda command=command: bash.run(command)),  # type: ignore[misc]
                "cat": process(BASH, "-c", f"{command} | cat >/dev/null"),
            },
            rounds=21,
            warm_up=1,
        )
        label = command.replace("|", "\\|")
        ratio = took["cat"] / took["nacre"]
        rows.append(
            Row(f"`{label}` against `… \\| cat >/dev/null`", ms(took["nacre"]), f"{ratio:.2f} × its speed", "≥ 0.8")
        )
    return rows


async def start_up() -> list[Row]:
    python = sys.executable
    took = await medians(
        {
            "python": process(python, "-c", "pass"),
            "import": process(python, "-c", "import nacre"),
            "bash": process(python, "-c", "import nacre; nacre.Bash"),
            "cli": process(python, "-m", "nacre", "run", "true"),
        },
        rounds=30,
    )
    bare = took["python"]
    return [
        Row("`import nacre`, beyond bare Python", ms(took["import"] - bare), "", "≤ 60 ms"),
        Row("`import nacre; nacre.Bash`, beyond bare Python", ms(took["bash"] - bare)),
        Row("`nacre run true`, in all", ms(took["cli"]), "", "≤ 120 ms"),
    ]


async def keeper(bash: Bash) -> list[Row]:
    times = []
    for _ in range(20):
        keeper_connection().handle_death()
        start = time.perf_counter()
        first = await bash.run("true")
        times.append(time.perf_counter() - start - first.duration)
    times.sort()
    return [
        Row("start of the keeper (first command, less its own time)", ms(times[len(times) // 2]), "", "≤ 60 ms"),
        Row(
            "its resident memory, after 20 runs", f"{await _resident(bash, keeper_connection()):.1f} MB", "", "≤ 15 MB"
        ),
    ]


async def _resident(bash: Bash, keeper: KeeperConnection) -> float:
    for _ in range(20):
        await bash.run("true")
    with open(f"/proc/{keeper.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


async def many(bash: Bash) -> list[Row]:
    took = await medians(
        {
            "nacre": time_call(lambda: asyncio.gather(*(bash.run("sleep 1") for _ in range(500)))),
            "asyncio": time_call(lambda: asyncio.gather(*(run_with_asyncio("sleep 1") for _ in range(500)))),
        },
        rounds=3,
        warm_up=0,
    )
    ratio = took["nacre"] / took["asyncio"]
    return [Row("500 × `sleep 1` at once, against bare asyncio", ms(took["nacre"]), f"{ratio:.2f} ×", "≤ 1.5")]


async def rows() -> list[Row]:
    bash = Bash()
    await bash.run("true")
    return [
        *await latency(bash),
        *await measure_sequential_runs(bash),
        *await bulk(bash),
        *await start_up(),
        *await many(bash),
        *await keeper(bash),
    ]
