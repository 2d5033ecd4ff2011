"""`nacre.Bash().call({"command": …, "timeout_seconds": …})`: the tool as a model calls it, with all defaults.

In contrast to the row `nacre`, a command is not killed on a timeout, but keeps running as a background task, and the
answer names the task and its output file. Such a task also outlives the host, until it exits or is killed
(`KillShell`).
"""

from __future__ import annotations

from pathlib import Path

from bench.peers.contract import Answer
from nacre import Bash, ToolContext
from nacre.result import Running

PACKAGES: list[str] = []
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        self._bash, self._ctx = Bash(), ToolContext(working_dir=directory)

    async def run(self, command: str, timeout: float) -> Answer:
        answer = await self._bash.call({"command": command, "timeout_seconds": timeout}, self._ctx)
        if answer.result is None:
            raise RuntimeError(answer.text)
        goes_on = isinstance(answer.result.outcome, Running)
        return Answer(answer.text, answer.result.exit_code, "running" if goes_on else "exit")

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)
