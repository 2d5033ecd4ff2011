"""Measurement: rivals take turns in one run, their medians are compared, and the ratio is recorded."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BASH = shutil.which("bash") or "/bin/bash"

Once = Callable[[], Awaitable[float]]
"""One measurement, in seconds."""


@dataclass(frozen=True)
class Row:
    what: str
    figure: str
    ratio: str = ""
    goal: str = ""
    holds: bool = True
    """False: the goal is a promise, and it is broken. The benchmark fails."""


async def series(rivals: dict[str, Once], rounds: int, warm_up: int = 5) -> dict[str, list[float]]:
    """Measure the rivals interleaved, so that other load on the machine affects all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for number in range(rounds + warm_up):
        for name, once in rivals.items():
            taken = await once()
            if number >= warm_up:
                times[name].append(taken)
    return times


async def medians(rivals: dict[str, Once], rounds: int, warm_up: int = 5) -> dict[str, float]:
    return {name: statistics.median(taken) for name, taken in (await series(rivals, rounds, warm_up)).items()}


def time_call(call: Callable[[], Awaitable[object]]) -> Once:
    async def once() -> float:
        start = time.perf_counter()
        await call()
        return time.perf_counter() - start

    return once


def process(*arguments: str, env: Mapping[str, str] | None = None) -> Once:
    """Time a whole process from start to exit, without nacre. `env` is added to the inherited environment."""
    variables = {**os.environ, **(env or {})}

    async def once() -> float:
        start = time.perf_counter()
        subprocess.run(arguments, check=True, stdin=subprocess.DEVNULL, capture_output=True, env=variables)
        return time.perf_counter() - start

    return once


class Answering:
    """A program that times itself, once for each byte it is sent."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    async def once(self) -> float:
        self.begin()
        return self.end()

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(".")
        self._process.stdin.flush()

    def end(self) -> float:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline()) / 1e9

    def close(self) -> None:
        self._process.communicate()


class Floor(Answering):
    """`floor.c`, compiled. Raises FileNotFoundError if there is no compiler."""

    def __init__(self, text: str, workers: int = 1, count: int = 1) -> None:
        self._directory = tempfile.TemporaryDirectory()
        program = os.path.join(self._directory.name, "floor")
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise FileNotFoundError("no C compiler")
        subprocess.run([compiler, "-O2", "-pthread", "-o", program, str(HERE / "floor.c")], check=True)
        super().__init__(program, BASH, text, str(workers), str(count))

    def close(self) -> None:
        super().close()
        self._directory.cleanup()


def machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.release().split('-')[0]} {platform.machine()}, "
        f"Python {platform.python_version()}, {_bash_version()}"
    )


def _bash_version() -> str:
    text = subprocess.run([BASH, "-c", "echo $BASH_VERSION"], capture_output=True, text=True, check=True).stdout
    return f"bash {text.strip()}"


def table(rows: list[Row]) -> str:
    lines = ["| what | figure | ratio | goal |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {row.figure} | {row.ratio} | {row.goal}{_verdict(row)} |" for row in rows]
    return "\n".join(lines)


_AMOUNT = re.compile(r"(-?[\d,.]+) ?(µs|ms|s|KB|MB)?(?![\w/])")
_UNITS = {"": 1, "µs": 1e-6, "ms": 1e-3, "s": 1, "KB": 1e3, "MB": 1e6}


def _verdict(row: Row) -> str:
    """Return a note if the goal is missed. A goal without a unit applies to the ratio."""
    sign, amount = row.goal[:1], parse_amount(row.goal[1:].strip())
    if sign not in "≤≥" or amount is None:
        return "" if row.holds else ": **missed**"
    value = parse_amount(row.figure if row.goal[-1].isalpha() else row.ratio)
    met = value is not None and (value <= amount if sign == "≤" else value >= amount)
    return "" if met else ": **missed**"


def parse_amount(text: str) -> float | None:
    """Return the number at the start of `text`, in seconds, bytes or times; None if there is none."""
    found = _AMOUNT.match(text)
    return None if found is None else float(found[1].replace(",", "")) * _UNITS[found[2] or ""]


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def run(main: Callable[[], Awaitable[None]]) -> None:
    if sys.platform != "linux":
        print("These benchmarks are made for Linux; elsewhere they mean little.", file=sys.stderr)
    asyncio.run(main())  # type: ignore[arg-type]
