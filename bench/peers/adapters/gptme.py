"""`gptme.tools.shell.execute_shell`, which the `shell` tool of gptme calls, without a hook that prompts a person.

One bash per conversation. Its timeout is an environment variable (GPTME_SHELL_TIMEOUT, default 20 minutes), set here
for each call that is meant to reach it. After 120 s it would turn a command into a background task; no probe lasts that
long. It is cancelled as its own terminal interface does, with an exception in the waiting thread. Its telemetry is off
by default, and GPTME_TIKTOKEN_TIMEOUT=0 prevents the download of a tokenizer: output limits then count four characters
per token.

After each command it waits twice 0.1 s for late output on stderr: that is most of the latency of an `echo`. Above 32
MiB of output it kills the command.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import re
import threading
from pathlib import Path

os.environ["GPTME_TIKTOKEN_TIMEOUT"] = "0"

from gptme.tools.shell import execute_shell, get_shell, set_workspace_cwd
from gptme.util.interrupt import raise_in_thread

from bench.peers.contract import Answer

PACKAGES = ["gptme==0.35.1"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = True

LONG = 60.0
"""No later command is meant to reach its timeout. gptme has its own timeout; this setting determines how it cancels."""


class Shell:
    def __init__(self, directory: Path) -> None:
        self._conversation = contextvars.copy_context()
        self._conversation.run(set_workspace_cwd, str(directory))
        self._thread: int | None = None

    async def run(self, command: str, timeout: float) -> Answer:
        os.environ["GPTME_SHELL_TIMEOUT"] = str(timeout if timeout < LONG else 1200)
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(None, self._conversation.run, self._run, command)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            if self._thread is not None:
                raise_in_thread(self._thread, KeyboardInterrupt)
            await asyncio.wait([done], timeout=5)
            raise

    def _run(self, command: str) -> Answer:
        self._thread = threading.get_ident()
        try:
            text = "\n\n".join(message.content for message in execute_shell(None, None, {"command": command}))
        except KeyboardInterrupt:
            return Answer("interrupted", None, "unknown")
        finally:
            self._thread = None
        if text.startswith("Command timed out"):
            return Answer(text, None, "timeout")
        if text.startswith("Command killed"):
            return Answer(text, None, "unknown")
        code = re.search(r"^Return code: (-?\d+)$", text, re.MULTILINE)
        return Answer(text, int(code[1]) if code else 0)

    async def close(self) -> None:
        await asyncio.to_thread(lambda: self._conversation.run(get_shell).close())


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)
