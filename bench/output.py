"""Savings and speed of the text pipeline: `python -m bench.output`.

Tokens are estimates (`nacre.output.tokens`). Speed is that of the whole pipeline on each log, repeated up to the
megabyte that is captured of a run, and on unrealistic outputs; the fastest of a few rounds, in CPU time.
"""

from __future__ import annotations

import random
import time

from bench.measure import HERE, Row, machine, table
from nacre.output.shape import shape
from nacre.output.tokens import count_tokens

LOGS = sorted((HERE.parent / "tests" / "output" / "logs").glob("*.log"))
CAPTURED = 1024 * 1024
ROUNDS = 5
MB = 1_000_000


def speed(data: bytes) -> float:
    """Return megabytes per second."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        shape(data)
        best = min(best, time.process_time() - start)
    return len(data) / MB / max(best, 1e-6)


def odd() -> dict[str, bytes]:
    words = random.Random(1).choices(
        "the quick brown fox jumps over a lazy dog while it rains outside".split(), k=2**21
    )
    prose = " ".join(words).replace(" over", "\nover").encode()
    return {
        "plain text, 1 MiB": prose[:CAPTURED],
        "plain text, 10 MB": prose[: 10 * MB],
        "one line of 10 MB": b"a" * (10 * MB),
        "5 MB of random bytes": random.Random(1).randbytes(5 * MB),
        "5 MB of NULs": bytes(5 * MB),
        "100,000 blank lines": b"\n" * 100_000,
        "seq 50000": b"".join(b"%d\n" % number for number in range(50_000)),
    }


async def rows() -> list[Row]:
    made = []
    total, recorded = [0, 0, 0, 0], [0, 0, 0, 0]
    speeds = {}
    for log in LOGS:
        data = log.read_bytes()
        text = shape(data).text
        counts = (len(data), count_tokens(data.decode()), len(text.encode()), count_tokens(text))
        total = [sum(both) for both in zip(total, counts, strict=True)]
        if "generated" not in log.name:
            recorded = [sum(both) for both in zip(recorded, counts, strict=True)]
        speeds[log.name] = speed(data * max(1, CAPTURED // len(data)))
        made.append(_row(log.name, counts, f"{speeds[log.name]:.0f} MB/s"))
    made.append(_row("all logs", (total[0], total[1], total[2], total[3]), "", "60 % less"))
    made.append(_row("all but the generated", (recorded[0], recorded[1], recorded[2], recorded[3]), "", "60 % less"))
    slowest = min(speeds, key=lambda name: speeds[name])
    made.append(Row("the slowest log", f"{speeds[slowest]:.1f} MB/s: {slowest}", goal="10 MB/s"))
    for name, data in odd().items():
        text = shape(data).text
        goal = "100 MB/s" if "plain" in name else ""
        figure = f"{len(data):,} → {len(text):,} characters, {speed(data):.0f} MB/s"
        made.append(Row(name, figure, goal=goal))
    return made


def _row(name: str, counts: tuple[int, int, int, int], rest: str, goal: str = "") -> Row:
    raw, raw_tokens, kept, kept_tokens = counts
    figure = f"{raw:,} → {kept:,} bytes, {raw_tokens:,} → {kept_tokens:,} tokens"
    return Row(name, f"{figure}, {rest}" if rest else figure, f"{1 - kept_tokens / raw_tokens:.0%} less", goal)


if __name__ == "__main__":
    import asyncio

    print(f"On {machine()}.\n\n{table(asyncio.run(rows()))}")
