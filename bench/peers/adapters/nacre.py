"""`nacre.Bash().run(Request(command, timeout=…))` and the text that a model reads of its result, every default on.

What a program calls: a command that has not ended in time is ended, with all that it has started. What a model calls is
the row `nacre-call`, where it goes on as a task. What a command leaves running in the background is kept, as a task,
until the host ends. `nacre.Session`, which keeps the directory and variables for the next command, is not used.

Two things take their time on purpose: TERM comes 1.5 s before KILL, so that clean-up traps run, and what a command
leaves in the background is looked at for some 50 ms, as it may be about to end.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from bench.peers.contract import Answer
from nacre import Bash, Request, ToolContext
from nacre.result import TimedOut
from nacre.views.model.with_spill import for_model

PACKAGES: list[str] = []
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        self._bash, self._ctx = Bash(), ToolContext(working_dir=directory)

    async def run(self, command: str, timeout: float) -> Answer:
        result = await self._bash.run(Request(command, timeout=timeout), self._ctx)
        text = await asyncio.to_thread(for_model, result)
        return Answer(text, result.exit_code, "timeout" if isinstance(result.outcome, TimedOut) else "exit")

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)
