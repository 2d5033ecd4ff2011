"""`deepagents.backends.LocalShellBackend.aexecute`, behind the `execute` tool of a deep agent that works on the host,
and its answer as that tool gives it to the model.

Set: the directory and, for each call, the timeout. Its commands get an empty environment by default, without a PATH;
`/bin/sh` then uses its built-in default.
"""

from __future__ import annotations

from pathlib import Path

from deepagents.backends import LocalShellBackend
from deepagents.middleware.filesystem import FilesystemMiddleware

from bench.peers.contract import Answer

PACKAGES = ["deepagents==0.7.32"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        self._backend = LocalShellBackend(directory)

    async def run(self, command: str, timeout: float) -> Answer:
        response = await self._backend.aexecute(command, timeout=int(timeout))
        output, code = response.output, response.exit_code
        text = FilesystemMiddleware._format_execute_output(output, code, truncated=response.truncated)
        return Answer(text, code, "timeout" if output.startswith("Error: Command timed out") else "exit")

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)
