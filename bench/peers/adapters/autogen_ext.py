"""`LocalCommandLineCodeExecutor` with a `bash` block, behind `CodeExecutorAgent.execute_code_block` of
autogen-agentchat: the agent that runs the code blocks of a conversation, and whose sentence about the exit code a model
reads. No Docker.

Its timeout is an argument of the executor (whole seconds, 60 unless told), not of the call: one executor for each
timeout that is asked for. A command is written to a file named by its hash, run with `bash FILE`, and the file deleted:
the same command twice at once shares one file. Stderr comes before stdout, whatever their order was. Of a command that
has timed out it ends the bash, and then waits until nobody holds the pipes (with Python 3.11 and 3.13 alike). Its own
`CancellationToken` reaches only the start of a process, not one that runs: cancelled is the task.
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
