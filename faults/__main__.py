"""`make faults`: `python -m faults [--fault NAME]… [--rounds N] [--seed N]`.

Injects each fault a number of times, each time at another moment. After each round the next command must work, no
process, descriptor or temporary file may be left, reported task states must be true, and no output of a surviving task
may be lost. A failure is printed with the command that repeats the round with the same random choices; timing on the
machine still varies. Exits with 1 if there was a failure.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path

import pytest

from faults.catalogue import FAULTS
from faults.round import play
from tests.support.census import MARK


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--fault", action="append", metavar="NAME", help=f"or its beginning: {', '.join(FAULTS)}")
    parser.add_argument("--rounds", type=int, help="total number of rounds (default: each fault's own number)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first round (default: 0)")
    asked = parser.parse_args()
    chosen = [name for name in FAULTS if asked.fault is None or name.startswith(tuple(asked.fault))]
    if not chosen:
        parser.error(f"unknown fault: {asked.fault[0]!r}; choose from {', '.join(FAULTS)}")
    whole = sum(FAULTS[name].rounds for name in chosen)
    share = 1 if asked.rounds is None else asked.rounds / whole
    print(f"| {'fault':29} | rounds | failed | seconds |\n|{'-' * 31}|-------:|-------:|--------:|", flush=True)
    done = [
        await _rounds(name, range(asked.seed, asked.seed + max(1, round(share * FAULTS[name].rounds))))
        for name in chosen
    ]
    rounds, failed, seconds = (sum(column) for column in zip(*done, strict=True))
    print(f"| {'all':29} | {rounds:6} | {failed:6} | {seconds:7.0f} |")
    return 1 if failed else 0


async def _rounds(name: str, seeds: range) -> tuple[int, int, float]:
    """Return the number of rounds, the number of failed ones, and the duration in seconds."""
    start, played, failures, missing = time.monotonic(), 0, list[tuple[int, str]](), ""
    for seed in seeds:
        try:
            wrong = await play(FAULTS[name].fault, seed)
        except pytest.skip.Exception as error:
            missing = str(error)
            break
        played += 1
        if wrong:
            failures.append((seed, wrong))
    took = time.monotonic() - start
    reason = f" not here: {missing}" if missing else ""
    print(f"| {name:29} | {played:6} | {len(failures):6} | {took:7.0f} |{reason}", flush=True)
    for seed, wrong in failures[:5]:
        print(f"  {wrong}\n  again: python -m faults --fault {name!r} --rounds 1 --seed {seed}", flush=True)
    return played, len(failures), took


if __name__ == "__main__":
    os.environ[MARK] = secrets.token_hex(4)
    with tempfile.TemporaryDirectory(prefix="nacre-faults-state-") as state:
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = str(Path(state))
        sys.exit(asyncio.run(main()))
