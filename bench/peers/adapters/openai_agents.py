"""The `exec_command` tool of `agents.sandbox.capabilities.Shell`, on a `UnixLocalSandboxClient` session: the tool that
a `SandboxAgent` of the OpenAI Agents SDK calls on the host.

Set: the workspace's root, and `yield_time_ms` for each call. There is no timeout: after that time the answer names a
session, the command keeps running, and the model can poll it with `write_stdin`; it is killed with the sandbox. At most
64 commands are kept: one more kills the oldest. (The SDK's `ShellTool` and `LocalShellTool` run nothing themselves:
they take a function of the caller's.)
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agents.sandbox import Manifest
from agents.sandbox.capabilities import Shell as ShellCapability
from agents.sandbox.sandboxes.unix_local import UnixLocalSandboxClient

from bench.peers.contract import Answer

PACKAGES = ["openai-agents==0.24.0"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, client: UnixLocalSandboxClient, session: Any) -> None:
        self._client, self._session = client, session
        capability = ShellCapability()
        capability.bind(session)
        self._tool: Any = capability.tools()[0]

    async def run(self, command: str, timeout: float) -> Answer:
        arguments = json.dumps({"cmd": command, "yield_time_ms": int(timeout * 1000)})
        text = await self._tool.on_invoke_tool(None, arguments)
        code = re.search(r"^Process exited with code (-?\d+)$", text, re.MULTILINE)
        running = "Process running with session ID" in text
        return Answer(text, int(code[1]) if code else None, "running" if running else "exit")

    async def close(self) -> None:
        await self._session.aclose()
        await self._client.delete(self._session)


async def open_shell(directory: Path) -> Shell:
    client = UnixLocalSandboxClient()
    session = await client.create(manifest=Manifest(root=str(directory)))
    await session.start()
    return Shell(client, session)
