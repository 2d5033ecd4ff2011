"""Scale: throughput, thousands of commands at once, and a soak test."""

from __future__ import annotations

from bench import concurrent, soak, throughput
from bench.measure import Row


async def rows() -> list[Row]:
    return [*await throughput.rows(), *await concurrent.rows(), *await soak.rows()]
