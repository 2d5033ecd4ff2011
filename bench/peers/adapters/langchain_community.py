"""`langchain_community.tools.ShellTool`, LangChain's older tool, still the one in most tutorials. No settings.

`subprocess.run` with `/bin/sh` and no timeout, in the directory of the host process. On any internal error, including
output that is not UTF-8, the model gets `None`.
"""

from __future__ import annotations

from pathlib import Path

from langchain_community.tools import ShellTool

from bench.peers.contract import Answer

PACKAGES = ["langchain-community==0.4.2", "langchain-experimental==0.4.2"]
PYTHON = "3.11"
TIMEOUT = None
SESSION = False


class Shell:
    def __init__(self) -> None:
        self._tool = ShellTool()

    async def run(self, command: str, timeout: float) -> Answer:
        return Answer(str(await self._tool.ainvoke({"commands": [command]})), None, "unknown")

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell()
