"""Progress of a run for the client: elapsed time, bytes of output and the last line.

Reports when there is new output, and otherwise at intervals, because a client that receives nothing gives up. Only
complete lines are shown. They are masked together with the text around them, since a secret may span lines.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from nacre.ansi.decode import clean
from nacre.base.units import format_duration, format_size
from nacre.redact.redactor import Redactor
from nacre.result import Chunk

_REPORT_INTERVAL_S = 0.5
_KEEPALIVE_INTERVAL_S = 5.0
"""Seconds after which progress is reported even without new output."""
_TAIL_BYTES = 8 * 1024
"""Bytes at the end of the output that are searched for a line; more if a secret is long."""
_MAX_LINE_CHARS = 200
_ENDS = re.compile(r"[\r\n]+")
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Progress:
    """The progress of one run, fed with its output."""

    def __init__(self, redactor: Redactor) -> None:
        self._hidden = redactor
        self._began = time.monotonic()
        self._end = b""
        self._kept = max(_TAIL_BYTES, *(8 * len(value) for value in ("", *redactor.values())))
        self.bytes = 0

    def see(self, chunk: Chunk) -> None:
        """Count a chunk of output and keep its end."""
        self.bytes += len(chunk.data)
        self._end = (self._end + chunk.data)[-self._kept :]

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    @property
    def line(self) -> str:
        """The last complete line that is not empty."""
        text = self._hidden.mask(self._end.decode("utf-8", "replace"), starts_cut=True, ends_cut=True)
        whole = _ENDS.split(_COLOURS.sub("", text))[:-1]
        text = next((line for each in reversed(whole) if (line := clean(each).strip())), "")
        return text if len(text) <= _MAX_LINE_CHARS else text[: _MAX_LINE_CHARS - 1] + "…"

    @property
    def message(self) -> str:
        line = self.line
        return f"{format_duration(self.elapsed)}, {format_size(self.bytes)}B" + (f": {line}" if line else "")

    async def report(self, until: asyncio.Future[Any], say: Callable[[float, str], Awaitable[None]]) -> None:
        """Call `say` with elapsed seconds, which increase each time, and message, until `until` is done."""
        told, at = 0, 0.0
        while not (await asyncio.wait({until}, timeout=_REPORT_INTERVAL_S))[0]:
            if self.bytes != told or self.elapsed - at >= _KEEPALIVE_INTERVAL_S:
                told, at = self.bytes, self.elapsed
                await say(round(at, 3), self.message)
