"""A sandboxed command that runs its first part, reports that, and then waits to be released."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import Any

from nacre import Bash, Request, Result, ToolContext
from nacre.engines import LOCAL, Engine
from nacre.result import Chunk, Ended
from tests.support.waiting import HANG_TIMEOUT_S


class Held:
    def __init__(
        self, place: Path, name: str, command: str, then: str = ":", *, engine: Engine = LOCAL, **given: Any
    ) -> None:
        """Prepare the command; `then` is the shell text that it runs when released."""
        self._fifo = place / f"{name}.fifo"
        os.mkfifo(self._fifo)
        fifo = shlex.quote(str(self._fifo))
        context = {"access": "workspace", "working_dir": place, "approve": lambda _: True, **given}
        text = f"{command}\necho done; read -r _ < {fifo}\n{then}"
        self._stream = Bash(engine=engine).stream(Request(text, timeout=3 * HANG_TIMEOUT_S), ToolContext(**context))

    async def begin(self) -> Held:
        """Start the command and return when its first part is done."""
        async for event in self._stream:
            if isinstance(event, Chunk):
                return self
        raise AssertionError("the command has ended")

    async def end(self) -> Result:
        await asyncio.to_thread(self._fifo.write_text, "go\n")
        result: Result | None = None
        async for event in self._stream:
            result = event.result if isinstance(event, Ended) else result
        self._fifo.unlink()
        assert result is not None
        return result
