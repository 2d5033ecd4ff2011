"""Notice a run whose keeper does not end it in time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from nacre.base.system import LINUX
from nacre.keeper.protocol.ending import KILL_SCRIPT_TIMEOUT_S, UNKILLABLE_AFTER_S
from nacre.keeper.protocol.procfs import cpu_seconds, read_process
from nacre.types import Plan

_KEEPER_TIMEOUT_S = 10.0
"""Seconds after which a keeper that should have killed a run counts as dead (another process stopped it)."""
_MAX_STARVED_RETRIES = 30
"""Extensions of that time for a keeper that works but gets little CPU time: a process storm may leave it almost
none."""


class Watchdog:
    """Calls `on_late` when the keeper should have ended the run long ago."""

    def __init__(self, loop: asyncio.AbstractEventLoop, plan: Plan, on_late: Callable[[], None]) -> None:
        self._loop = loop
        self._on_late = on_late
        script_s = KILL_SCRIPT_TIMEOUT_S if plan.kill_script else 0
        self._bound_s = plan.timing.timeout + plan.timing.grace + script_s + UNKILLABLE_AFTER_S + _KEEPER_TIMEOUT_S
        self._timer: asyncio.TimerHandle | None = None
        self._retries = 0
        self._keeper_cpu_s = -1.0
        """CPU time of the keeper in seconds when it was last found late."""
        self.started_at = 0.0
        """Time on the event loop's clock."""

    def start(self) -> None:
        """Wait from now on."""
        self.stop()
        self.started_at = self._loop.time()
        if self._bound_s < threading.TIMEOUT_MAX:
            self._timer = self._loop.call_later(self._bound_s, self._on_late)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def extend_if_starved(self, keeper: int) -> bool:
        """Wait longer if the keeper is late because it gets no CPU time, not because it is stopped or stuck; return
        whether that is so."""
        if not self._is_starved(keeper):
            return False
        self._timer = self._loop.call_later(_KEEPER_TIMEOUT_S, self._on_late)
        return True

    def _is_starved(self, keeper: int) -> bool:
        seen = read_process(keeper) if LINUX else None  # None where /proc hides it (hidepid)
        if not LINUX or self._retries >= _MAX_STARVED_RETRIES or (seen is not None and seen.state in "TtZX"):
            return False
        self._retries += 1
        before = self._keeper_cpu_s
        try:
            self._keeper_cpu_s = cpu_seconds(keeper)
        except OSError:
            return False
        return self._keeper_cpu_s != before or (seen is not None and seen.state == "R")
