"""`sandlock.Sandbox(…).popen(["bash", "-c", command])` and its `wait(timeout=…)`: a sandbox rather than an agent's
tool, based on the same kernel features as nacre's (Landlock, seccomp). In a thread, with a sandbox for each command
(one holds one process at a time). It is cancelled by `kill()` on that process; the shorter `Sandbox.run` cannot be
cancelled, and loses the output on a timeout.

Set: it may read everything and write to its directory, `/tmp` and `/dev/null`; stdout and stderr are pipes, read to EOF
by a thread each, concatenated and decoded with replacement. stdin is inherited, which is the default and always so in
`run`; `stdin=StdioMode.NULL` would be empty. Its MCP server's `shell` tool is `subprocess.run` inside such a sandbox.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandlock import Sandbox
from sandlock._sdk import ExitReason
from sandlock.sandbox import Process, StdioMode

from bench.peers.contract import Answer

PACKAGES = ["sandlock==0.9.0"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        self._directory = str(directory)

    async def run(self, command: str, timeout: float) -> Answer:
        process = await asyncio.to_thread(self._start_process, command)
        try:
            return await asyncio.to_thread(_wait_for_end, process, timeout)
        except asyncio.CancelledError:
            process.kill()
            raise

    def _start_process(self, command: str) -> Process:
        sandbox = Sandbox(fs_readable=["/"], fs_writable=[self._directory, "/tmp", "/dev/null"], cwd=self._directory)
        return sandbox.popen(["bash", "-c", command], stdout=StdioMode.PIPED, stderr=StdioMode.PIPED)

    async def close(self) -> None:
        pass


def _wait_for_end(process: Process, timeout: float) -> Answer:
    with process, ThreadPoolExecutor(2) as readers:
        streams = [readers.submit(stream.read) for stream in (process.stdout, process.stderr)]
        result = process.wait(timeout)
        text = b"".join(stream.result() for stream in streams).decode(errors="replace")
    if result.error:
        raise RuntimeError(result.error)
    timed_out = result.reason == ExitReason.TIMEOUT
    return Answer(text, None if timed_out else result.exit_code, "timeout" if timed_out else "exit")


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)
