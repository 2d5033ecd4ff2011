"""`langchain.agents.middleware.ShellToolMiddleware`, the shell tool of LangChain's own agents: its tool, called as the
agent's tool node does, on the host (`HostExecutionPolicy`, the default).

Set: the directory, and the policy's `command_timeout` before each call (a model cannot choose it). According to its
documentation, a session without `env` inherits the parent's environment; in fact it gets an empty one. A session is one
bash that reads commands from a pipe, which is also the stdin of those commands; the end of a command is detected by a
line that bash prints, which is missed if the output does not end in a newline.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from langchain.agents.middleware import HostExecutionPolicy, ShellToolMiddleware
from langchain.tools import ToolRuntime

from bench.peers.contract import Answer

PACKAGES = ["langchain==1.4.7"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = True


class Shell:
    def __init__(self, directory: Path) -> None:
        self._policy = HostExecutionPolicy()
        self._middleware: Any = ShellToolMiddleware(directory, execution_policy=self._policy)
        self._state: dict[str, Any] = {"messages": []}

    async def open(self) -> None:
        self._state |= await self._middleware.abefore_agent(self._state, None)

    async def run(self, command: str, timeout: float) -> Answer:
        self._policy.command_timeout = timeout
        runtime: Any = ToolRuntime(
            state=self._state, context=None, config={}, stream_writer=lambda _: None, tool_call_id="call", store=None
        )
        arguments = {"command": command, "runtime": runtime}
        call = {"name": "shell", "args": arguments, "id": "call", "type": "tool_call"}
        message = await self._middleware.tools[0].ainvoke(call)
        told = message.artifact or {}
        return Answer(message.text, told.get("exit_code"), "timeout" if told.get("timed_out") else "exit")

    async def close(self) -> None:
        await asyncio.to_thread(self._middleware.after_agent, self._state, None)


async def open_shell(directory: Path) -> Shell:
    shell = Shell(directory)
    await shell.open()
    return shell
