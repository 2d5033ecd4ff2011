"""Asking a keeper for a run: whoever is the keeper just now, as often as it takes to be heard."""

from __future__ import annotations

import asyncio
import os

from nacre.base.frozen import replace
from nacre.errors import KeeperFailed
from nacre.keeper.client import connection as keepers
from nacre.keeper.client.connection import PendingRun, TaskDirHandle
from nacre.keeper.client.events import FinalEvent, RunStopped, StartFailed, parse_start_failed
from nacre.keeper.protocol.ending import CANCEL
from nacre.types import Plan

_RETRY_DELAY_S = 0.002
_WAKE_AFTER_RETRIES = 50
"""Tries after which somebody may have stopped it."""
_MAX_KEEPER_DEATHS = 5
"""Of keepers, one after the other, before they have taken a message: that is nobody's chance."""
CANCELLED_BEFORE_START = RunStopped(-1, CANCEL, 0.0, False, (), ())
"""Before it began."""


class RunRequest:
    """For one run."""

    def __init__(self, plan: Plan, state: int | None, folder: TaskDirHandle | None) -> None:
        self._plan = plan
        self._state = state
        self._task_dir = folder
        self._deadline = asyncio.get_running_loop().time() + plan.timeout
        self._repeated = False
        self.cancelled = False
        """It is not to be asked for any more."""

    async def submit(self) -> PendingRun | FinalEvent:
        """What is lacking for it just now, descriptors most likely, is all that will be heard of it. KeeperFailed: no
        keeper can be had at all."""
        deaths = tries = 0
        while not self.cancelled:
            try:
                keeper = keepers.keeper_connection()
            except KeeperFailed as error:
                if error.errno:
                    return StartFailed(error.errno, os.strerror(error.errno))
                raise
            try:
                return keeper.start(self._plan, self._state, self._task_dir)
            except BlockingIOError:
                tries += 1
                if tries % _WAKE_AFTER_RETRIES == 0:
                    keeper.resume()
                await asyncio.sleep(_RETRY_DELAY_S)
            except ConnectionError:
                keeper.handle_death()  # it died since the last run: the next one will do, and what it kept ends with it
                keeper.raise_if_unsupported()
                deaths += 1
                if deaths == _MAX_KEEPER_DEATHS:
                    raise KeeperFailed(
                        f"{deaths} keepers died before they could be asked: {keeper.death_reason}."
                    ) from None
                await asyncio.sleep(0)
            except OSError as error:
                return parse_start_failed(error)
        return CANCELLED_BEFORE_START

    async def resubmit(self) -> PendingRun | FinalEvent | None:
        """Somebody killed the keeper that was asked, and it had not begun it, so that another may, in the time that is
        left. None: there is none left, or it has been asked for again already: who keeps killing keepers is to be heard
        of."""
        left = self._deadline - asyncio.get_running_loop().time()
        if self._repeated or left <= 0:
            return None
        self._plan = replace(self._plan, timeout=left)
        asked = await self.submit()
        self._repeated = True
        return asked
