"""`nacre.Bash().run(Request(command, timeout=…))` and the text that a model reads of its result, with all defaults.

This is the interface for programs: on a timeout, a command and all processes that it has started are killed. The
interface for models is the row `nacre-call`, where the command keeps running as a background task. Leftovers of a
command are kept as a task until the host exits. `nacre.Session`, which keeps the directory and variables for the next
command, is not used.

Two delays are deliberate: TERM is sent 1.5 s before KILL, so that clean-up traps run, and leftovers of a command are
watched for some 50 ms, because they may be about to exit.
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
