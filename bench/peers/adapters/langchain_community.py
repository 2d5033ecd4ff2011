"""`langchain_community.tools.ShellTool`, LangChain's older tool, still the one in most tutorials. Nothing set.

`subprocess.run` with `/bin/sh` and no timeout, in the directory of the host's process. Whatever goes wrong inside, a
byte that is no UTF-8 included, the model is told `None`.
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
