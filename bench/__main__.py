"""`make bench`: measures everything and keeps the tables in RESULTS.md; `make bench ARGS=checker` shows one of them.

Figures are of one run on one machine; ratios are what to compare. Fails where a promise is broken.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from bench import checker, foundation, output, sandbox, scale, tasks
from bench.measure import HERE, machine, run, table

SUBJECTS = {
    "foundation": foundation,
    "checker": checker,
    "sandbox": sandbox,
    "tasks": tasks,
    "output": output,
    "scale": scale,
}


async def main() -> None:
    asked = sys.argv[1:] or list(SUBJECTS)
    measured = {name: await SUBJECTS[name].rows() for name in asked}
    sections = [f"## {name.capitalize()}\n\n{table(rows)}\n" for name, rows in measured.items()]
    text = (
        "# Measurements\n\n"
        f"`make bench`, {datetime.now(UTC):%Y-%m-%d}, on {machine()}. Rivals take turns in one run, medians, "
        f"{foundation.ROUNDS} rounds for one command; both streams captured, own session, every default on.\n\n"
        + "\n".join(sections)
    )
    print(text)
    if asked == list(SUBJECTS):
        (HERE / "RESULTS.md").write_text(text)
    broken = [row.what for rows in measured.values() for row in rows if not row.holds]
    if broken:
        sys.exit("\n".join(f"broken: {what}" for what in broken))


run(main)
