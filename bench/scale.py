"""How much at once, how much per second, and how long: throughput, thousands of commands at once, a soak."""

from __future__ import annotations

from bench import concurrent, soak, throughput
from bench.measure import Row


async def rows() -> list[Row]:
    return [*await throughput.rows(), *await concurrent.rows(), *await soak.rows()]
