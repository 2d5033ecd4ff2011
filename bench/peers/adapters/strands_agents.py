"""`strands.vended_tools.shell`, called as the event loop of an agent calls it (`tool.stream`), with the default
environment of an agent: `NotASandboxLocalEnvironment`, which is the host. All defaults.

`sh -c` in a new session, with the host's stdin. It reads until no process holds the pipes, and its timeout has no
effect once the `sh` has exited: it waits for a background process that keeps its output open. No output limit.
"""

from __future__ import annotations

import json
from pathlib import Path

from strands.sandbox.not_a_sandbox_local_environment import NotASandboxLocalEnvironment
from strands.vended_tools.shell import make_shell

from bench.peers.contract import Answer

PACKAGES = ["strands-agents==1.62.0"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self) -> None:
        self._tool = make_shell(sandbox=NotASandboxLocalEnvironment())

    async def run(self, command: str, timeout: float) -> Answer:
        call = {"toolUseId": "call", "name": "shell", "input": {"command": command, "timeout": int(timeout)}}
        *_, last = [event async for event in self._tool.stream(call, {"agent": None})]
        text = "\n".join(part["text"] for part in last.tool_result["content"])
        if last.tool_result["status"] == "error":
            return Answer(text, None, "timeout" if "SandboxTimeoutError" in text else "unknown")
        return Answer(text, json.loads(text)["exit_code"])

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell()  # it works in the directory of the host process, which is this process
