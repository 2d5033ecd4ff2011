"""`nacre.Bash().call({"command": …, "timeout_seconds": …})`: the tool as a model calls it, every default on.

Other than in the row `nacre`, a command that has not ended in time is not ended, but goes on as a task, and the answer
names the task and its output file. Such a task outlives the host, too, until it ends or is ended (`KillShell`).
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
