"""`LocalCommandLineCodeExecutor` with a `bash` block, behind `CodeExecutorAgent.execute_code_block` of
autogen-agentchat: the agent that runs the code blocks of a conversation, and whose sentence about the exit status a
model reads. No Docker.

Its timeout is an argument of the executor (whole seconds, default 60), not of the call: there is one executor per
requested timeout. A command is written to a file named by its hash, run with `bash FILE`, and the file is deleted: two
concurrent runs of the same command share one file. stderr comes before stdout, whatever their order was. On a timeout
it kills bash, and then waits until no process holds the pipes (with Python 3.11 and 3.13 alike). Its own
`CancellationToken` only prevents the start of a process, so the asyncio task is cancelled instead.
"""

from __future__ import annotations

from pathlib import Path

from autogen_agentchat.agents import CodeExecutorAgent
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor

from bench.peers.contract import Answer

PACKAGES = ["autogen-ext==0.7.5", "autogen-agentchat==0.7.5"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._agents: dict[int, CodeExecutorAgent] = {}

    async def run(self, command: str, timeout: float) -> Answer:
        block = CodeBlock(language="bash", code=command)
        result = await self._agent(int(timeout)).execute_code_block([block], CancellationToken())
        timed_out = result.exit_code == 124 and result.output.endswith("\nTimeout")
        return Answer(result.output, result.exit_code, "timeout" if timed_out else "exit")

    def _agent(self, timeout: int) -> CodeExecutorAgent:
        if timeout not in self._agents:
            executor = LocalCommandLineCodeExecutor(timeout=timeout, work_dir=self._directory)
            self._agents[timeout] = CodeExecutorAgent("executor", executor)
        return self._agents[timeout]

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)
