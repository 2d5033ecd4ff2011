"""Cost of a check: one command of the corpus, a long script, a separate process."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import HERE, Once, Row, medians, ms, process, series
from nacre import check
from nacre.shell.syntax.parser import parse

CORPUS = HERE.parent / "tests" / "corpus" / "commands.jsonl"
ROUNDS = 5
_RULES = """
[permissions]
allow = ["Bash(npm run test:*)", "Bash(git status)"]
ask = ["Bash(git commit:*)"]
deny = ["Bash(git push:*)", "Bash(curl:*)"]
[rules]
git-push-force = "refuse"
"""


def each(commands: list[str]) -> list[Row]:
    for command in commands:
        check(command)  # load every rule once
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
    """Check a script of a hundred kilobytes, made of commands that each fit on one line."""
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
    took = await medians(
        {
            "python": process(python, "-c", "pass"),
            "check": process(python, "-m", "nacre", "check", "ls -la | sort"),
        },
        rounds=30,
    )
    return [
        Row("`nacre check` as a process, in all", ms(took["check"]), "", "≤ 80 ms"),
        Row("… of which bare Python", ms(took["python"])),
    ]


async def measure_hook() -> list[Row]:
    """Measure `nacre hook`, started by a shell as an agent does, with realistic settings."""
    call = {"tool_name": "Bash", "tool_input": {"command": "ls -la | sort"}, "permission_mode": "default"}
    payload = json.dumps({"session_id": "1", "cwd": "/", "hook_event_name": "PreToolUse", **call})
    calls = ("sh", "-c", 'printf %s "$2" | "$1" -m nacre hook || exit 2', "sh", sys.executable, payload)
    settings = {
        "nothing configured": "",
        "rules in TOML": _RULES,
        "these and an audit trail": f"audit = true\n{_RULES}",
    }
    rivals: dict[str, Once] = {}
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as place:
        for number, (name, text) in enumerate(settings.items()):
            home = Path(place, str(number))
            (home / "nacre").mkdir(parents=True)
            if text:
                (home / "nacre" / "config.toml").write_text(text)
            rivals[name] = process(*calls, env={"XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home)})
        took = await series(rivals, rounds=30)
        if not Path(place, "2", "nacre", "audit.jsonl").exists():
            raise FileNotFoundError("the hook wrote no audit trail")
    return [
        Row(f"`nacre hook`, {name}: median, least", f"{ms(statistics.median(each))}, {ms(min(each))}", "", "≤ 80 ms")
        for name, each in took.items()
    ]


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"


async def rows() -> list[Row]:
    entries = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    commands = [entry["command"] for entry in entries]
    harmless = [entry["command"] for entry in entries if entry["want"] == "allow"]
    return [*each(commands), *script(harmless), *await alone(), *await measure_hook()]
