"""`run_command` of the `Shell` capability (pydantic-ai-harness) in a `LocalWorkspace`: the pair that their
documentation gives an agent for commands. Called as an agent run calls it, through `ShellToolset.call_tool`, which cuts
the output. All defaults.

pydantic-ai itself has workspaces but no shell tool. The shell is `sh`. A command gets PATH, HOME and the locale of its
host and no other variable. After it exits, pipes that are still held open are read for two more seconds. Above 10 MiB
of output the command is killed, and the model gets an error instead of the output.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pydantic_ai.workspaces import LocalWorkspaceBackend, Workspace
from pydantic_ai_harness import Shell as ShellCapability

from bench.peers.contract import Answer

PACKAGES = ["pydantic-ai-slim==2.62.0", "pydantic-ai-harness==0.62.0"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        workspace = Workspace(LocalWorkspaceBackend(directory))
        self._context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), workspace=workspace)
        self._toolset = ShellCapability[None]().get_toolset()

    async def run(self, command: str, timeout: float) -> Answer:
        tool = (await self._toolset.get_tools(self._context))["run_command"]
        arguments = {"command": command, "timeout_seconds": timeout}
        try:
            text = str(await self._toolset.call_tool("run_command", arguments, self._context, tool))
        except ModelRetry as error:  # a message to the model, like the next exception
            return Answer(str(error), None, "refused")
        except ToolFailed as error:
            return Answer(str(error), None, "unknown")
        if text.endswith(f"[Command timed out after {timeout}s]"):
            return Answer(text, None, "timeout")
        code = re.search(r"\[exit code: (\d+)\]$", text)
        return Answer(text, int(code[1]) if code else 0)

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)
