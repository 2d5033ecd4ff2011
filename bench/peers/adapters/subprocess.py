"""`subprocess.run(command, shell=True, capture_output=True, timeout=…)`, the three lines that most shell tools begin
with, in a thread. Not a peer, but the baseline for comparison."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

from bench.peers.contract import Answer

PACKAGES: list[str] = []
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def run(self, command: str, timeout: float) -> Answer:
        return await asyncio.to_thread(self._run, command, timeout)

    def _run(self, command: str, timeout: float) -> Answer:
        try:
            done = subprocess.run(
                command, shell=True, capture_output=True, text=True, timeout=timeout, cwd=self._directory
            )
        except subprocess.TimeoutExpired as error:
            return Answer(str(error), None, "timeout")
        return Answer(done.stdout + done.stderr, done.returncode)

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)
