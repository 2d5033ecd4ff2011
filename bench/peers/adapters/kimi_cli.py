"""The `Shell` tool of kimi-cli, the class that its agent's `Shell` calls reach, approved in advance (`yolo`), and the
message that kimi-cli makes of its result. Its `run_in_background` is not used. Telemetry is off.

`bash -c` with a closed stdin, in the process group of its host; a timeout or a cancel kills that bash and no other
process. Output is read line by line, and a line may have 64 KiB: after a longer one the model gets an execution error
without output, and the command keeps running.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import kaos
from kaos.path import KaosPath
from kimi_cli import telemetry
from kimi_cli.soul.agent import Runtime
from kimi_cli.soul.approval import Approval
from kimi_cli.soul.message import tool_result_to_message
from kimi_cli.soul.toolset import current_tool_call
from kimi_cli.tools.shell import Params
from kimi_cli.tools.shell import Shell as ShellTool
from kimi_cli.utils.environment import Environment
from kimi_cli.wire.types import ToolCall, ToolResult

from bench.peers.contract import Answer

PACKAGES = ["kimi-cli==1.52.0"]
PYTHON = "3.12"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, tool: ShellTool) -> None:
        self._tool = tool

    async def run(self, command: str, timeout: float) -> Answer:
        current_tool_call.set(ToolCall(id="call", function=ToolCall.FunctionBody(name="Shell", arguments=None)))
        value = await self._tool(Params(command=command, timeout=int(timeout)))
        text = tool_result_to_message(ToolResult(tool_call_id="call", return_value=value)).extract_text("\n")
        if "killed by timeout" in value.message:
            return Answer(text, None, "timeout")
        if not value.is_error:
            return Answer(text, 0)
        code = re.match(r"Command failed with exit code: (-?\d+)", value.message)
        return Answer(text, int(code[1]) if code else None, "exit" if code else "unknown")

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    telemetry.disable()
    await kaos.chdir(KaosPath.unsafe_from_local_path(directory))
    runtime = cast(Runtime, None)  # needed for background tasks only
    return Shell(ShellTool(Approval(yolo=True), await Environment.detect(), runtime))
