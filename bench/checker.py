"""What a check costs: one command of the corpus, a long script, a process of its own."""

from __future__ import annotations

import json
import statistics
import sys
import time

from bench.measure import HERE, Row, medians, ms, process
from nacre import check
from nacre.shell.parse import parse

CORPUS = HERE.parent / "tests" / "corpus" / "commands.jsonl"
ROUNDS = 5


def each(commands: list[str]) -> list[Row]:
    for command in commands:
        check(command)  # every rule is loaded once
    times = []
    for command in commands:
        taken = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            check(command)
            taken.append(time.perf_counter() - start)
        times.append(statistics.median(taken))
    cuts = statistics.quantiles(times, n=100)
    return [
        Row(f"`check`, over {len(commands):,} commands: half of them within", _us(cuts[49]), "", "≤ 100 µs"),
        Row("… 95 % within", _us(cuts[94]), "", "≤ 500 µs"),
    ]


def script(commands: list[str]) -> list[Row]:
    """A hundred kilobytes of them, one a line, that can stand in one script."""
    lines = [each for each in commands if "\n" not in each and "<<" not in each and not parse(each)[1]]
    text = "\n".join(lines * 3)[:100_000].rpartition("\n")[0]
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        check(text)
        taken.append(time.perf_counter() - start)
    return [Row(f"`check` of a script of {len(text) // 1000} KB", ms(statistics.median(taken)), "", "≤ 100 ms")]


async def alone() -> list[Row]:
    python = sys.executable
    call = {"tool_name": "Bash", "tool_input": {"command": "ls -la | sort"}, "permission_mode": "default"}
    payload = json.dumps({"session_id": "1", "cwd": "/tmp", "hook_event_name": "PreToolUse", **call})
    took = await medians(
        {
            "python": process(python, "-c", "pass"),
            "check": process(python, "-m", "nacre", "check", "ls -la | sort"),
            "hook": process("sh", "-c", 'printf %s "$2" | "$1" -m nacre hook || exit 2', "sh", python, payload),
        },
        rounds=30,
    )
    return [
        Row("`nacre check` as a process, in all", ms(took["check"]), "", "≤ 80 ms"),
        Row("… of which bare Python", ms(took["python"])),
        Row("`nacre hook`, by the shell as an agent does", ms(took["hook"]), "", "≤ 80 ms"),
    ]


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"


async def rows() -> list[Row]:
    entries = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    commands = [entry["command"] for entry in entries]
    harmless = [entry["command"] for entry in entries if entry["want"] == "allow"]
    return [*each(commands), *script(harmless), *await alone()]
