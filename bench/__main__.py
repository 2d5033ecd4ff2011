"""`make bench`: measure everything and keep the tables in RESULTS.md.

`make bench ARGS=checker` shows one of them; with `--keep`, keep that one. Figures are from one run on one machine;
compare the ratios. Exits with an error if a promise is broken.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from bench import checker, foundation, memory, output, ray, sandbox, scale, tasks
from bench.measure import HERE, machine, run, table
from bench.peers.venvs import commit

ORDINARY = {
    "foundation": foundation,
    "checker": checker,
    "sandbox": sandbox,
    "tasks": tasks,
    "output": output,
    "scale": scale,
}
SUBJECTS = {**ORDINARY, "memory": memory, "ray": ray}
"""All subjects. Those that take an hour or need another environment come last; their kept tables stay until they are
measured again."""
RESULTS = HERE / "RESULTS.md"


async def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description="Measures what nacre costs.")
    parser.add_argument(
        "subjects", nargs="*", metavar="SUBJECT", help=f"{', '.join(SUBJECTS)} (default: all but the last two)"
    )
    parser.add_argument("--keep", action="store_true", help="write the tables of the given subjects to RESULTS.md")
    given = parser.parse_args()
    if unknown := set(given.subjects) - SUBJECTS.keys():
        parser.error(f"unknown subject: {', '.join(sorted(unknown))}; choose from {', '.join(SUBJECTS)}")
    asked = given.subjects or list(ORDINARY)
    measured = {name: await SUBJECTS[name].rows() for name in asked}
    tables = {name: f"## {name.capitalize()}\n\n{table(rows)}\n" for name, rows in measured.items()}
    if given.keep or asked == list(ORDINARY):
        _keep(tables)
    else:
        print("\n".join(tables.values()))
    broken = [row.what for rows in measured.values() for row in rows if not row.holds]
    if broken:
        sys.exit("\n".join(f"broken: {what}" for what in broken))


def _keep(tables: dict[str, str]) -> None:
    """Write RESULTS.md with these tables and the kept ones of the other subjects."""
    kept = {**sections(RESULTS.read_text()), **tables}
    text = (
        "# Measurements\n\n"
        f"`make bench`, {datetime.now(UTC):%Y-%m-%d}, commit {commit() or 'unknown'}, on {machine()}. "
        f"Rivals take turns in one run, medians, {foundation.ROUNDS} rounds for one command; both streams captured, "
        "own session, every default on.\n\n" + "\n".join(kept[name] for name in SUBJECTS if name in kept)
    )
    print(text)
    RESULTS.write_text(text)


def sections(text: str) -> dict[str, str]:
    """Return the kept tables, by subject."""
    parts = text.split("\n## ")[1:]
    return {part.split("\n")[0].lower(): f"## {part.rstrip()}\n" for part in parts}


run(main)
