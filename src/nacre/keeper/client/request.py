"""Asking a keeper for a run: whoever is the keeper just now, as often as it takes to be heard."""

from __future__ import annotations

import asyncio
import os

from nacre.base.frozen import replace
from nacre.errors import KeeperFailed
from nacre.keeper.client import connection as keepers
from nacre.keeper.client.connection import Asked, Folder
from nacre.keeper.client.events import LastWord, NeverBegan, Stopped, never_began
from nacre.keeper.protocol.ending import CANCEL
from nacre.types import Plan

_BUSY = 0.002
_BUSY_LONG = 50
"""Tries after which somebody may have stopped it."""
_DEATHS = 5
"""Of keepers, one after the other, before they have taken a message: that is nobody's chance."""
CALLED_OFF = Stopped(-1, CANCEL, 0.0, False, (), ())
"""Before it began."""


class Asking:
    """For one run."""

    def __init__(self, plan: Plan, state: int | None, folder: Folder | None) -> None:
        self._plan = plan
        self._state = state
        self._folder = folder
        self._until = asyncio.get_running_loop().time() + plan.timeout
        self._repeated = False
        self.called_off = False
        """It is not to be asked for any more."""

    async def ask(self) -> Asked | LastWord:
        """What is lacking for it just now, descriptors most likely, is all that will be heard of it. KeeperFailed: no
        keeper can be had at all."""
        deaths = tries = 0
        while not self.called_off:
            try:
                keeper = keepers.client()
            except KeeperFailed as error:
                if error.lack:
                    return NeverBegan(error.lack, os.strerror(error.lack))
                raise
            try:
                return keeper.start(self._plan, self._state, self._folder)
            except BlockingIOError:
                tries += 1
                if tries % _BUSY_LONG == 0:
                    keeper.wake()
                await asyncio.sleep(_BUSY)
            except ConnectionError:
                keeper.bury()  # it died since the last run: the next one will do, and what it kept ends with it
                keeper.check_fitness()
                deaths += 1
                if deaths == _DEATHS:
                    raise KeeperFailed(f"{deaths} keepers died before they could be asked: {keeper.fate}.") from None
                await asyncio.sleep(0)
            except OSError as error:
                return never_began(error)
        return CALLED_OFF

    async def ask_again(self) -> Asked | LastWord | None:
        """Somebody killed the keeper that was asked, and it had not begun it, so that another may, in the time that is
        left. None: there is none left, or it has been asked for again already: who keeps killing keepers is to be heard
        of."""
        left = self._until - asyncio.get_running_loop().time()
        if self._repeated or left <= 0:
            return None
        self._plan = replace(self._plan, timeout=left)
        asked = await self.ask()
        self._repeated = True
        return asked
