"""Request a run from the current keeper, and again from the next one if that dies."""

from __future__ import annotations

import asyncio
import os

from nacre.base.frozen import replace
from nacre.errors import KeeperFailed
from nacre.keeper.client import connection as keepers
from nacre.keeper.client.connection import PendingRun, TaskDirHandle
from nacre.keeper.client.events import FinalEvent, RunStopped, StartFailed, parse_start_failed
from nacre.keeper.protocol.ending import CANCELLED
from nacre.types import Plan

_RETRY_DELAY_S = 0.002
_WAKE_AFTER_RETRIES = 50
"""Retries after which the keeper gets SIGCONT: another process may have stopped it."""
_MAX_KEEPER_DEATHS = 5
"""Keepers in a row that die before they take a message; more cannot be chance."""
CANCELLED_BEFORE_START = RunStopped(-1, CANCELLED, 0.0)
"""Final event of a run that was cancelled before it started."""


class RunRequest:
    """The request for one run."""

    def __init__(self, plan: Plan, state: int | None, folder: TaskDirHandle | None) -> None:
        self.plan = plan
        self._state = state
        self._task_dir = folder
        self._deadline = asyncio.get_running_loop().time() + plan.timing.timeout
        self._repeated = False
        self.cancelled = False
        """Set to stop requesting the run."""

    async def submit(self) -> PendingRun | FinalEvent:
        """Request the run. A temporary shortage, most likely of file descriptors, is returned as the run's final event.
        KeeperFailed: no keeper can be started at all."""
        deaths = tries = 0
        while not self.cancelled:
            try:
                keeper = keepers.keeper_connection()
            except KeeperFailed as error:
                if error.errno:
                    return StartFailed(error.errno, os.strerror(error.errno))
                raise
            try:
                return keeper.start(self.plan, self._state, self._task_dir)
            except BlockingIOError:
                tries += 1
                if tries % _WAKE_AFTER_RETRIES == 0:
                    keeper.resume()
                await asyncio.sleep(_RETRY_DELAY_S)
            except ConnectionError:
                keeper.handle_death()  # it died since the last run: kill what it kept, and use the next keeper
                keeper.raise_if_unsupported()
                deaths += 1
                if deaths == _MAX_KEEPER_DEATHS:
                    raise KeeperFailed(
                        f"{deaths} keepers died before they got the request: {keeper.death_reason}."
                    ) from None
                await asyncio.sleep(0)
            except OSError as error:
                return parse_start_failed(error)
        return CANCELLED_BEFORE_START

    async def resubmit(self) -> PendingRun | FinalEvent | None:
        """Request the run from another keeper, within the time left, after its keeper was killed before starting it.
        Returns None if no time is left, or on the second call: if keepers keep being killed, that is reported."""
        left = self._deadline - asyncio.get_running_loop().time()
        if self._repeated or left <= 0:
            return None
        self.plan = replace(self.plan, timing=replace(self.plan.timing, timeout=left))
        asked = await self.submit()
        self._repeated = True
        return asked
