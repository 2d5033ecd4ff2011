"""The `Execute` tool of `EnvironmentToolset` in a `LocalEnvironment`: the only tool of the ADK that runs shell commands
on the host (experimental, according to its documentation). The model reads the dictionary that it returns, here as
JSON.

Its timeout is a constant (`DEFAULT_TIMEOUT`, 30 s), which neither the model nor the host can choose: it is changed in
the module. `ExecuteBashTool` is not used: it runs no shell (it splits the words and runs the first, so that `|`, `&`
and `;` are arguments), and it prompts a person for every command. `UnsafeLocalCodeExecutor` runs Python only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from google.adk.environment import LocalEnvironment
from google.adk.tools.environment import _execute_tool
from google.adk.tools.tool_context import ToolContext

from bench.peers.contract import Answer

PACKAGES = ["google-adk==2.13.0"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, environment: LocalEnvironment) -> None:
        self._environment = environment
        self._tool = _execute_tool.ExecuteTool(environment)

    async def run(self, command: str, timeout: float) -> Answer:
        _execute_tool.DEFAULT_TIMEOUT = int(timeout)
        unused = cast(ToolContext, None)
        result = await self._tool.run_async(args={"command": command}, tool_context=unused)
        text = json.dumps(result, ensure_ascii=False)
        timed_out = str(result.get("error", "")).startswith("Command timed out")
        return Answer(text, result.get("exit_code", 0), "timeout" if timed_out else "exit")

    async def close(self) -> None:
        await self._environment.close()


async def open_shell(directory: Path) -> Shell:
    environment = LocalEnvironment(working_dir=directory)
    await environment.initialize()
    return Shell(environment)
