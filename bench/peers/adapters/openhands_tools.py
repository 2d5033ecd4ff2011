"""`TerminalExecutor`, which the `TerminalTool` of an OpenHands agent runs, with the back end that it chooses if tmux is
installed: a pool of at most four panes. All defaults.

A command is typed into a bash in a pane of 256 columns, and the pane is read until the prompt appears again. The
timeout is an argument of the call, and kills nothing: the model is told that the command is still running, and may send
it `C-c`; the next call interrupts it. It is cancelled as a conversation of theirs does, with `interrupt()`, which also
sends `C-c` and does not reach background processes. The tmux server is not a child of the host. It is an interactive
bash: commands are added to the user's history file. LITELLM_LOCAL_MODEL_COST_MAP prevents the download of prices on
import.

1.58.1 and 1.58.2 require a version of certifi that was not available when this was pinned.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from openhands.sdk.llm import TextContent
from openhands.tools.terminal.definition import TerminalAction
from openhands.tools.terminal.impl import TerminalExecutor

from bench.peers.contract import Answer

PACKAGES = ["openhands-tools==1.58.0", "openhands-sdk==1.58.0"]
PYTHON = "3.12"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, executor: TerminalExecutor) -> None:
        self._executor = executor

    async def run(self, command: str, timeout: float) -> Answer:
        action = TerminalAction(command=command, timeout=timeout)
        try:
            seen = await asyncio.to_thread(self._executor, action)
        except asyncio.CancelledError:
            await asyncio.to_thread(self._executor.interrupt)
            raise
        text = "\n".join(part.text for part in seen.to_llm_content if isinstance(part, TextContent))
        if f"timed out after {timeout} seconds" in text:
            return Answer(text, None, "running")
        return Answer(text, seen.exit_code)

    async def close(self) -> None:
        await asyncio.to_thread(self._executor.close)


async def open_shell(directory: Path) -> Shell:
    return Shell(await asyncio.to_thread(TerminalExecutor, working_dir=str(directory)))
