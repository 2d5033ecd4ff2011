"""`make bench-compare BASE=REV`: measure this tree and an earlier commit in turns, and compare their tables row by row.

The earlier commit gets a worktree and a virtual environment of its own in a temporary directory, and is measured by its
own bench. A row that has a ratio is compared by its ratio, so that the load of the machine cancels out; other rows by
their figure. Each figure is the median of all rounds. Exits with an error if a row is worse than the limit.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import HERE, parse_amount

ROOT = HERE.parent
SUBJECTS = ("foundation", "checker", "sandbox", "tasks")
_LIMIT = 1.05
_MAX_ROUND_S = 1800
_HIGHER_IS_BETTER = re.compile(r"its speed|/s\b")


@dataclass
class Compared:
    """The amounts of one row in both trees, one per round."""

    higher_is_better: bool
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)

    @property
    def factor(self) -> float:
        """How much worse the row has become: above 1 is worse."""
        before, after = statistics.median(self.before), statistics.median(self.after)
        worse, better = (before, after) if self.higher_is_better else (after, before)
        return worse / better if better else 1.0


def read_table(text: str) -> dict[str, tuple[float, bool]]:
    """Return the amount of each row of the tables in `text`, and whether more of it is better.

    A row that begins with … continues the last row that does not; both make its key.
    """
    amounts: dict[str, tuple[float, bool]] = {}
    main = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if len(cells) != 4 or cells[0] in ("what", "---") or set(cells[0]) == {"-"}:
            continue
        what, figure, ratio, _ = cells
        if not what.startswith("…"):
            main = what
        value = ratio if ratio and "×" in ratio else figure
        amount = parse_amount(value)
        if amount is not None:
            amounts[what if what == main else f"{main} {what}"] = amount, bool(_HIGHER_IS_BETTER.search(value))
    return amounts


def compare(rounds: Iterable[tuple[str, str]]) -> dict[str, Compared]:
    """Pair the rows that both trees have. `rounds`: the tables of the earlier tree and of this one, per round."""
    rows: dict[str, Compared] = {}
    for earlier, current in rounds:
        before, after = read_table(earlier), read_table(current)
        for what, (amount, higher) in after.items():
            if what in before:
                row = rows.setdefault(what, Compared(higher))
                row.before.append(before[what][0])
                row.after.append(amount)
    return rows


def format_rows(rows: dict[str, Compared], limit: float) -> str:
    lines = ["| what | before | now | worse by |", "|---|---|---|---|"]
    for what, row in rows.items():
        before, after = statistics.median(row.before), statistics.median(row.after)
        mark = f": **over {limit:g}**" if row.factor > limit else ""
        lines.append(f"| {what} | {before:.4g} | {after:.4g} | {row.factor:.3f} ×{mark} |")
    return "\n".join(lines)


@contextmanager
def earlier_tree(revision: str) -> Iterator[Path]:
    """Check out `revision` into a temporary worktree, with its virtual environment, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as directory:
        tree = Path(directory) / "before"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree), revision], cwd=ROOT, check=True)
        try:
            subprocess.run(["make", "-s", "venv"], cwd=tree, check=True)
            if (tree / "scripts" / "rivals.sh").exists():
                subprocess.run(["scripts/rivals.sh"], cwd=tree, check=True)
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def measure(tree: Path, subject: str) -> str:
    """Run one subject of the bench of `tree` and return what it printed. A broken promise is shown, not raised."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NACRE_")}
    done = subprocess.run(
        [str(tree / ".venv" / "bin" / "python"), "-m", "bench", subject],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_MAX_ROUND_S,
    )
    if not done.stdout.strip():
        sys.exit(f"`python -m bench {subject}` in {tree} measured nothing (exit {done.returncode}).")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-compare", description="Measures this tree against a commit.")
    parser.add_argument("base", help="the earlier commit")
    parser.add_argument("subjects", nargs="*", default=list(SUBJECTS), metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each subject (default: 3)")
    parser.add_argument("--limit", type=float, default=_LIMIT, help=f"how much worse a row may be (default: {_LIMIT})")
    given = parser.parse_args()
    over: list[str] = []
    with earlier_tree(given.base) as tree:
        for subject in given.subjects:
            rounds: list[tuple[str, str]] = []
            for number in range(given.rounds):
                order = (tree, ROOT) if number % 2 == 0 else (ROOT, tree)
                printed: dict[Path, str] = defaultdict(str)
                for each in order:
                    printed[each] = measure(each, subject)
                rounds.append((printed[tree], printed[ROOT]))
            rows = compare(rounds)
            print(f"## {subject.capitalize()}, {given.rounds} rounds\n\n{format_rows(rows, given.limit)}\n", flush=True)
            over += [f"worse: {what}: {row.factor:.3f} ×" for what, row in rows.items() if row.factor > given.limit]
    if over:
        sys.exit("\n".join(over))


if __name__ == "__main__":
    main()
