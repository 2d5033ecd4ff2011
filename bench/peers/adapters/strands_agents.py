"""`strands.vended_tools.shell`, called as the event loop of an agent calls it (`tool.stream`), with the environment
that an agent has unless it is given another: `NotASandboxLocalEnvironment`, which is the host. Every default on.

`sh -c` in a session of its own, with the host's stdin. It reads until nobody holds the pipes, and its timeout does
nothing once the `sh` has ended: a process in the background that keeps its output is waited for. No limit to the
output.
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
