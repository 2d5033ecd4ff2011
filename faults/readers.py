"""Readers of a large output that are slow, or stop reading."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

from faults.count import HANG_TIMEOUT_S
from faults.round import Round, need
from nacre import ToolContext
from nacre.result import Chunk, Ended, Exited
from tests.support.hosts import ROOT

_READ = 1 << 16


async def slow(round: Round) -> None:
    """A slow consumer of a stream, a full pipe, or a closed one: the command waits, and no byte is lost of what is
    read."""
    size = round.random.randrange(5_000_000, 20_000_000)
    await round.random.choice((_consumer, _full_pipe, _closed_pipe))(round, size)


async def _consumer(round: Round, size: int) -> None:
    seen = 0
    async for event in round.bash.stream(f"head -c {size} /dev/zero; exit 7", ToolContext()):
        if isinstance(event, Chunk):
            seen += len(event.data)
            if round.random.random() < 0.05:
                await round.sleep_randomly(0.2)
        elif isinstance(event, Ended):
            need(event.result.outcome == Exited(7), f"the command: {event.result.summary}")
    need(seen == size, f"{seen} bytes, of {size}")


async def _full_pipe(round: Round, size: int) -> None:
    with _nacre(f"head -c {size} /dev/zero; exit 7") as program:
        assert program.stdout is not None
        await round.sleep_randomly()
        seen = 0
        while data := await asyncio.to_thread(os.read, program.stdout.fileno(), _READ):
            seen += len(data)
            if round.random.random() < 0.01:
                await round.sleep_randomly(0.2)
        code = await asyncio.to_thread(program.wait, HANG_TIMEOUT_S)
    need((seen, code) == (size, 7), f"{seen} bytes, of {size}, and exit code {code}")


async def _closed_pipe(round: Round, size: int) -> None:
    """Close the pipe while the command runs. Processes left running are found by `_leftover_processes`."""
    with _nacre(f"(setsid sleep 300 &); head -c {size} /dev/zero; sleep 300") as program:
        assert program.stdout is not None
        await asyncio.to_thread(os.read, program.stdout.fileno(), _READ)
        await round.sleep_randomly()
        program.stdout.close()
        await asyncio.to_thread(program.wait, HANG_TIMEOUT_S)


def _nacre(command: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "nacre", "run", "--plain", command]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=ROOT)
