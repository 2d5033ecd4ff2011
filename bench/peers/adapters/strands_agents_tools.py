"""`strands_tools.shell`, called as the event loop of an agent calls it (`tool.stream`), with
STRANDS_NON_INTERACTIVE=true: otherwise it prompts at the terminal before each command. This version announces its
deprecation in favour of the `shell` of strands-agents itself, which is the peer `strands-agents` here.

`sh -c` in a new pseudo-terminal (so lines end in `\\r\\n`), read 1,024 bytes at a time and copied to the host's stdout.
The terminal is a stdin that stays open; closing it kills background processes. It runs in a thread and cannot be
cancelled. No output limit.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

os.environ["STRANDS_NON_INTERACTIVE"] = "true"

from strands_tools.shell import shell

from bench.peers.contract import Answer

PACKAGES = ["strands-agents-tools==0.8.10", "strands-agents==1.62.0"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def run(self, command: str, timeout: float) -> Answer:
        arguments = {"command": command, "timeout": int(timeout), "work_dir": str(self._directory)}
        call = {"toolUseId": "call", "name": "shell", "input": arguments}
        *_, last = [event async for event in shell.stream(call, {})]
        text = "\n".join(part["text"] for part in last.tool_result["content"])
        if text.endswith(f"Error: Command timed out after {int(timeout)} seconds"):
            return Answer(text, None, "timeout")
        code = re.search(r"^Exit Code: (-?\d+)$", text, re.MULTILINE)
        return Answer(text, int(code[1]) if code else None)

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)
