"""`inspect_ai.tool.bash(timeout=…)` in a `local` sandbox, called by `execute_tools` as every solver and agent does:
output cut to 16 KiB, with its error messages. `bash --login -c`, a process for each command, in a private directory.

Set: the tool's timeout for each call. An evaluation runs as many concurrent commands as there are cores
(`max_subprocesses`), and so does this. After a timeout or a cancel it kills the shell, and then reads until no process
holds the shell's output open: a remaining child makes the call hang until that child exits.
"""

from __future__ import annotations

from pathlib import Path

from inspect_ai.model import ChatMessageAssistant, execute_tools
from inspect_ai.tool import ToolCall, bash
from inspect_ai.util._concurrency import init_concurrency
from inspect_ai.util._sandbox.context import init_sandbox_environments_sample
from inspect_ai.util._sandbox.local import LocalSandboxEnvironment
from inspect_ai.util._subprocess import init_max_subprocesses

from bench.peers.contract import Answer

PACKAGES = ["inspect-ai==0.3.285"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, environments: dict[str, object]) -> None:
        self._environments = environments

    async def run(self, command: str, timeout: float) -> Answer:
        call = ToolCall(id="call", function="bash", arguments={"command": command})
        asked = ChatMessageAssistant(content="", tool_calls=[call])
        message = (await execute_tools([asked], [bash(timeout=int(timeout))]))[0][-1]
        if message.error is None:
            return Answer(message.text, None, "unknown")
        return Answer(message.error.message, None, "timeout" if message.error.type == "timeout" else "unknown")

    async def close(self) -> None:
        await LocalSandboxEnvironment.sample_cleanup("peers", None, self._environments, False)


async def open_shell(directory: Path) -> Shell:
    init_concurrency()
    init_max_subprocesses()
    return Shell(await init_sandbox_environments_sample(LocalSandboxEnvironment, "peers", None, {}, None, {}))
