"""Format facts as tables. Cells show observations without judging them, except for ✓ and ✗ in the short form, where the
title of a column defines ✓."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.peers.probes import PARALLEL_COMMANDS, PROBES, SHOWN, TIMEOUT, Facts
from bench.peers.venvs import Peer


@dataclass(frozen=True)
class Findings:
    """All observations of one peer."""

    peer: Peer
    facts: Mapping[str, Facts] = field(default_factory=dict)
    """By probe."""
    missing: str = ""
    """The reason why it is not installed."""


@dataclass(frozen=True)
class Column:
    title: str
    probe: str
    cell: Callable[[Facts], str]
    timed: bool = False
    """True if the column does not apply to a peer without a timeout."""


def seconds(value: object) -> str:
    assert isinstance(value, int | float)
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.1f} s"


def megabytes(value: object) -> str:
    assert isinstance(value, int | float)
    return f"{value / 1e6:.0f} MB"


def yes(value: object) -> str:
    return "yes" if value else "no"


def quote_value(text: object) -> str:
    shown = repr(str(text))
    shown = shown if len(shown) <= 60 else f"{shown[:40]}…{shown[-15:]}"
    return "`" + shown.replace("|", "\\|").replace("`", "'") + "`"


def _of_two(facts: Facts) -> str:
    goes_on = " (goes on by design)" if facts.get("ended") == "running" else ""
    return f"{facts['left']} of 2 left{goes_on}"


def _background(facts: Facts) -> str:
    return f"{seconds(facts['took'])}, {'with' if facts['told'] else 'without'} `done`"


def _cancel_cell(facts: Facts) -> str:
    if facts.get("blocked"):
        return f"blocks the event loop; {facts['left']} of 2 left"
    if facts["left"]:
        return f"{facts['left']} of 2 left after {seconds(facts['took'])}"
    return f"nothing left after {seconds(facts['took'])}"


def _timeout(facts: Facts) -> str:
    return f"{seconds(facts['took'])}, output {'kept' if facts['part'] else 'lost'}, {_of_two(facts)}"


def _input(facts: Facts) -> str:
    stole = ", with the host's input" if facts["stole"] else ""
    waits = " (timeout)" if facts["ended"] in ("timeout", "running") else ""
    return f"{seconds(facts['took'])}{waits}{stole}"


def _length_cell(facts: Facts) -> str:
    assert isinstance(facts["told"], int)
    shown = f": {quote_value(facts['text'])}" if facts["told"] < SHOWN else ""
    return f"{facts['told']:,} characters{shown}"


def _secret(facts: Facts) -> str:
    if not facts["inherited"]:
        return "absent"
    return "inherited, shown" if facts["shown"] else "inherited, masked"


def _state(facts: Facts) -> str:
    kept = [name for name in ("directory", "variable") if facts[name]]
    return " and ".join(kept) or "none"


def _many(facts: Facts) -> str:
    objects = f", {facts['objects']} sessions" if facts["objects"] != 1 else ""
    return f"{seconds(facts['took'])}, {facts['right']} of {PARALLEL_COMMANDS} right{objects}"


TABLES: dict[str, tuple[Column, ...]] = {
    "What it costs": (
        Column("import", "echo", lambda facts: seconds(facts["import"])),
        Column("opening and the first `echo`", "echo", lambda facts: seconds(facts["first"])),
        Column("`echo`, median", "echo", lambda facts: seconds(facts["median"])),
        Column("`echo`, p95", "echo", lambda facts: seconds(facts["p95"])),
        Column("memory at rest", "echo", lambda facts: megabytes(facts["resting"])),
        Column(f"{PARALLEL_COMMANDS} × `sleep 0.2; echo` at once", "many", _many),
    ),
    "What is left running": (
        Column("`sleep 300 & echo done` returns after", "background", _background),
        Column("its `sleep`, afterwards", "background", lambda facts: "runs" if facts["running"] else "ended"),
        Column("and when the host has ended", "background", lambda facts: "runs" if facts["survivors"] else "ended"),
        Column("cancel", "cancel", _cancel_cell),
        Column("host killed with SIGKILL", "killed", lambda facts: f"{facts['left']} of 2 left"),
    ),
    f"When the time ({TIMEOUT:g} s) is up": (
        Column("a tree of processes", "tree", _timeout, timed=True),
        Column("with a `setsid` child", "setsid", _timeout, timed=True),
        Column("all ignoring TERM", "stubborn", _timeout, timed=True),
        Column("next command works", "tree", lambda facts: yes(facts["next"]), timed=True),
    ),
    "What the model is told": (
        Column("`printf foo`", "newline", lambda facts: quote_value(facts["text"])),
        Column("bashisms work", "bashisms", lambda facts: yes(facts["right"])),
        Column(r"`printf 'a\377b\n'`", "bytes", lambda facts: quote_value(facts["text"])),
        Column("exit code told", "exit", lambda facts: yes(facts["told"])),
        Column("50 MB in one line: time", "flood", lambda facts: seconds(facts["took"])),
        Column("memory", "flood", lambda facts: "+" + megabytes(facts["grew"])),
        Column("told", "flood", _length_cell),
    ),
    "What it shares with the host": (
        Column("`read x` returns after", "read", _input),
        Column("`cat` returns after", "cat", _input),
        Column("`OPENAI_API_KEY`", "secret", _secret),
        Column("kept for the next command", "state", _state),
    ),
}


def _mark(good: Callable[[Facts], bool]) -> Callable[[Facts], str]:
    return lambda facts: "✓" if good(facts) else "✗"


def _none_left(facts: Facts) -> str:
    if facts.get("ended") == "running":
        return "goes on"
    return "✓" if not facts["left"] else f"✗ {facts['left']}"


def _server(facts: Facts) -> str:
    if not (facts["told"] and _quick(facts["took"])):
        return "✗"
    return "✓" if facts["running"] else "✗ ended"


def _flood_cell(facts: Facts) -> str:
    return f"+{megabytes(facts['grew'])}{'' if facts['right'] else ', nothing shown'}"


SPEED_COLUMNS = (
    Column("open, and the first `echo`", "echo", lambda facts: seconds(facts["first"])),
    Column("`echo`", "echo", lambda facts: seconds(facts["median"])),
    Column("memory at rest", "echo", lambda facts: megabytes(facts["resting"])),
    Column("keeps `cd` and variables", "state", _mark(lambda facts: bool(facts["directory"] and facts["variable"]))),
    Column("`server &` returns within 1 s, and runs", "background", _server),
    Column("timeout: nothing left, not even `setsid`", "setsid", _none_left, timed=True),
    Column("timeout: output kept", "tree", _mark(lambda facts: bool(facts["part"])), timed=True),
    Column("host killed: nothing left", "killed", _none_left),
    Column(
        "stdin: neither waited for nor the host's",
        "read",
        _mark(lambda facts: _quick(facts["took"]) and not facts["stole"]),
    ),
    Column("`OPENAI_API_KEY` not inherited", "secret", _mark(lambda facts: not facts["inherited"])),
    Column("50 MB line: memory", "flood", _flood_cell),
)
"""Columns that differ between peers, including those in which nacre is behind."""


@dataclass(frozen=True)
class Race:
    """A figure of which less is better."""

    what: str
    probe: str
    fact: str
    shown: Callable[[object], str] = seconds

    def time_of(self, found: Findings) -> float | None:
        """Return the figure; None if the peer was not measured or did not do what was requested."""
        facts = found.facts.get(self.probe, {})
        value = facts.get(self.fact)
        did = facts.get("right", PARALLEL_COMMANDS) in (True, PARALLEL_COMMANDS) and facts.get("told", True)
        harmed = facts.get("left") or facts.get("stole")
        return value if isinstance(value, int | float) and did and not harmed else None


RACES = (
    Race("to be imported", "echo", "import"),
    Race("to open and run the first `echo`", "echo", "first"),
    Race("to run an `echo`", "echo", "median"),
    Race("to run 95 of 100 `echo`, each", "echo", "p95"),
    Race("of memory at rest", "echo", "resting", megabytes),
    Race(f"for {PARALLEL_COMMANDS} at once", "many", "took"),
    Race("to return from `sleep 300 & echo done`", "background", "took"),
    Race("to end everything when cancelled", "cancel", "took"),
    Race(f"to have ended a tree of processes, timeout ({TIMEOUT:g} s) included", "tree", "took"),
    Race("for the same with a `setsid` child", "setsid", "took"),
    Race("for the same where all of them ignore TERM", "stubborn", "took"),
    Race("to take in 50 MB", "flood", "took"),
    Race("more memory for 50 MB", "flood", "grew", megabytes),
    Race("to return from `read x`, which has no input", "read", "took"),
    Race("to return from `cat`, which has none", "cat", "took"),
)


def ahead(findings: list[Findings], row: str) -> list[str]:
    """Return a line for each race: nacre's figure in this row, and the peers with a smaller one."""
    lines = []
    for race in RACES:
        ours = next((race.time_of(found) for found in findings if found.peer.name == row), None)
        if ours is None:
            continue
        theirs = ((race.time_of(found), found.peer.name) for found in findings if not found.peer.ours)
        less = sorted((value, name) for value, name in theirs if value is not None and value < ours)
        names = ", ".join(f"{name} ({race.shown(value)})" for value, name in less)
        lines.append(f"- {race.shown(ours)} {race.what}; less: {names or 'nobody'}.")
    return lines


def keepers(findings: list[Findings]) -> str:
    """Return a line that lists which peers keep state for the next command."""
    seen = ((found.peer.name, found.facts.get("state", {})) for found in findings)
    kept = [(name, _state(facts)) for name, facts in seen if "directory" in facts]
    names = ", ".join(f"{name} ({what})" for name, what in kept if what != "none")
    return f"- Kept for the next command: {names or 'by nobody'}."


def _quick(value: object) -> bool:
    return isinstance(value, int | float) and value < 1


def table(columns: tuple[Column, ...], findings: list[Findings], *, short: bool = False) -> str:
    lines = ["| | " + " | ".join(column.title for column in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for found in findings:
        name = f"{found.peer.name} {found.peer.version}".strip()
        if not found.missing:
            lines.append(f"| {name} | " + " | ".join(_cell(column, found, short) for column in columns) + " |")
        elif not short:
            lines.append(f"| {name} | not installed |" + " |" * (len(columns) - 1))
    return "\n".join(lines)


def _cell(column: Column, found: Findings, short: bool) -> str:
    facts = found.facts.get(column.probe)
    if facts is None:
        return "–"
    if column.timed and found.peer.timeout is None:
        return "none" if short else "has no timeout"
    if "hung" in facts:
        return "hung" if short else f"hung (over {facts['hung']:g} s)"
    if "raised" in facts:
        return "raised" if short else f"raised {quote_value(facts['raised'])}"
    return column.cell(facts)


assert {column.probe for columns in TABLES.values() for column in columns} == set(PROBES), (
    "a probe is missing from the tables"
)
