"""What happens to a run, packed for the way: as soon as something has happened, with all that has happened by then."""

from __future__ import annotations

import asyncio

from nacre.execution.foreground import Following
from nacre.keeper.client.events import Began, Happening, LastWord, NeverBegan, Printed, Promoted, Stopped, Vanished

_PACK = 1024 * 1024
"""Bytes after which a pack is sent, even if more is there: each costs about the same, however small it is."""
_SOON = 0.005
"""Seconds in which most commands are over: their beginning and their end are then one pack."""


class Packs:
    def __init__(self, following: Following) -> None:
        self._following = following
        self._waiting: asyncio.Future[Happening] | None = None
        self.last: LastWord | None = None
        """There are no more."""

    async def next(self) -> list[Began | Printed]:
        pack: list[Began | Printed] = []
        size = 0
        while size < _PACK:
            waiting = self._waiting = self._waiting or asyncio.ensure_future(self._following.next())
            if pack:
                await asyncio.wait([waiting], timeout=_SOON if isinstance(pack[-1], Began) else 0)
                if not waiting.done():
                    break
            happening, self._waiting = await waiting, None
            if isinstance(happening, NeverBegan | Stopped | Vanished | Promoted):
                self.last = happening
                break
            assert isinstance(happening, Began | Printed)
            pack.append(happening)
            size += len(happening.data) if isinstance(happening, Printed) else 0
        return pack

    def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
