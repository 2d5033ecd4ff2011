"""`sandlock.Sandbox(…).run(["bash", "-c", command], timeout=…)`: a sandbox rather than an agent's tool, and one that
confines with the same parts of the kernel as nacre does (Landlock, seccomp). In a thread, a sandbox for each command
(one holds one process at a time).

Set: may read everything and write in its directory, `/tmp` and `/dev/null`; the two streams are told one after the
other, decoded with replacement. Its MCP server's `shell` tool is `subprocess.run` inside such a sandbox.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandlock import Sandbox
from sandlock._sdk import ExitReason

from bench.peers.contract import Answer

PACKAGES = ["sandlock==0.9.0"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        self._directory = str(directory)

    async def run(self, command: str, timeout: float) -> Answer:
        return await asyncio.to_thread(self._run, command, timeout)

    def _run(self, command: str, timeout: float) -> Answer:
        sandbox = Sandbox(fs_readable=["/"], fs_writable=[self._directory, "/tmp", "/dev/null"], cwd=self._directory)
        result = sandbox.run(["bash", "-c", command], timeout=timeout)
        if result.error:
            raise RuntimeError(result.error)
        timed_out = result.reason == ExitReason.TIMEOUT
        text = (result.stdout + result.stderr).decode(errors="replace")
        return Answer(text, None if timed_out else result.exit_code, "timeout" if timed_out else "exit")

    async def close(self) -> None:
        pass


async def opened(directory: Path) -> Shell:
    return Shell(directory)
