"""Events of a run, in batches for transport: a batch is sent after the first event, with all events so far."""

from __future__ import annotations

import asyncio

from nacre.execution.foreground import ForegroundRun
from nacre.keeper.client.events import (
    FinalEvent,
    KeeperLost,
    OutputChunk,
    Promoted,
    RunEvent,
    RunStopped,
    ShellStarted,
    StartFailed,
)

_MAX_BATCH_BYTES = 1024 * 1024
"""Bytes after which a batch is sent even if there is more: batches cost about the same, however small they are."""
_FIRST_BATCH_DELAY_S = 0.005
"""Seconds in which most commands exit, so that their start and end are in one batch."""


class EventBatches:
    """Batches of a foreground run's events."""

    def __init__(self, foreground: ForegroundRun) -> None:
        self._following = foreground
        self._waiting: asyncio.Future[RunEvent] | None = None
        self.last: FinalEvent | None = None
        """The final event, once there are no more."""

    async def next(self) -> list[ShellStarted | OutputChunk]:
        """Return the next batch. `last` is set if it is the last one."""
        pack: list[ShellStarted | OutputChunk] = []
        size = 0
        while size < _MAX_BATCH_BYTES:
            waiting = self._waiting = self._waiting or asyncio.ensure_future(self._following.next())
            if pack:
                await asyncio.wait([waiting], timeout=_FIRST_BATCH_DELAY_S if isinstance(pack[-1], ShellStarted) else 0)
                if not waiting.done():
                    break
            happening, self._waiting = await waiting, None
            if isinstance(happening, StartFailed | RunStopped | KeeperLost | Promoted):
                self.last = happening
                break
            assert isinstance(happening, ShellStarted | OutputChunk)
            pack.append(happening)
            size += len(happening.data) if isinstance(happening, OutputChunk) else 0
        return pack

    def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
