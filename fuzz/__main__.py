"""`make fuzz`: `python -m fuzz [TARGET…] [--cases N] [--seed N]`.

Runs N cases in total, starting at the seed, in as many processes as there are cores. Each failure is printed with its
seed, which reproduces the case (`python -m fuzz reading --seed 17 --cases 1`), and with the line that adds it to
tests/fuzz/saved_cases.jsonl. Exits with 1 if there was a failure.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from fuzz.target import TARGETS, Failure, attack

_MAX_SHOWN_CHARS = 3_000
"""Characters of a failure that are printed."""
_CASES_PER_JOB = 100
"""Cases per job of a worker process."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", default=[], metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--cases", type=int, default=100_000, help="total number of cases (default: 100,000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case (default: 0)")
    asked = parser.parse_args()
    names = asked.targets or list(TARGETS)
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(f"unknown target: {unknown[0]!r}; choose from {', '.join(TARGETS)}")
    for name in [name for name in names if TARGETS[name].missing]:
        print(f"{name:10} is skipped: {TARGETS[name].missing} (`make fuzz` installs it)", flush=True)
        names.remove(name)
    shares = _shares(names, asked.cases)
    failed = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in names:
            start = time.monotonic()
            firsts = range(asked.seed, asked.seed + shares[name], _CASES_PER_JOB)
            lengths = [min(_CASES_PER_JOB, asked.seed + shares[name] - first) for first in firsts]
            failures = [each for found in pool.map(attack, repeat(name), firsts, lengths) for each in found]
            failed += len(failures)
            print(
                f"{name:10} {shares[name]:7,} cases {time.monotonic() - start:7.1f} s  {len(failures)} failed",
                flush=True,
            )
            for failure in failures[:10]:
                _show(failure)
    return 1 if failed else 0


def _shares(names: list[str], cases: int) -> dict[str, int]:
    """Return the number of cases per target; slow targets get fewer."""
    total = sum(TARGETS[name].weight for name in names)
    return {name: max(1, round(cases * TARGETS[name].weight / total)) for name in names}


def _show(failure: Failure) -> None:
    """Print a failure. A long case is cut; its seed reproduces it."""
    case, wrong = failure.case[:_MAX_SHOWN_CHARS], failure.wrong[:_MAX_SHOWN_CHARS]
    print(f"\n--- {failure.target}, seed {failure.seed}\n{case!r}\n=> {wrong}")
    if 0 < len(failure.case) <= _MAX_SHOWN_CHARS:
        print(f"to keep it: {failure.line}")


if __name__ == "__main__":
    sys.exit(main())
