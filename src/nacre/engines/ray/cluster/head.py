"""The cluster's head: whether it answers, and that its end is not the end of this program.

Without it nothing is placed and nobody hears of a death; Ray waits for it in silence. Knows nothing of what waits.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from nacre.errors import EngineUnavailable

_REPLY_VALID_S = 1.0
"""Seconds for which nobody need knock again."""
_RESTART_TIMEOUT_S = 10.0
"""Seconds in which one that was restarted may be back, before whoever waits is told."""
_SETTING = "RAY_gcs_rpc_server_reconnect_timeout_s"
_NO_TIMEOUT_S = 365 * 24 * 3600


class HeadNotResponding(EngineUnavailable):
    """Nothing can be placed."""

    def __init__(self, address: str, seconds: float, why: str) -> None:
        super().__init__(
            f"The head of the Ray cluster ({address}) has not answered for {seconds:.0f} seconds: {why}.",
            "Start the cluster again, then call `ray.shutdown()` or start this program again: what comes next connects "
            "anew.",
        )


class Head:
    """Any thread."""

    def __init__(self, address: str, knock: Callable[[str], None]) -> None:
        self._address = address
        self._probe_address = knock
        """OSError: nobody is there."""
        self._lock = threading.Lock()
        self._last_probe_at = float("-inf")
        self._silent_since: float | None = None
        self._why = ""

    @property
    def answers(self) -> bool:
        """Blocks while somebody knocks; who comes meanwhile shares the answer."""
        with self._lock:
            if time.monotonic() - self._last_probe_at >= _REPLY_VALID_S:
                try:
                    self._probe_address(self._address)
                    self._silent_since = None
                except OSError as error:
                    self._silent_since = self._silent_since or time.monotonic()
                    self._why = error.strerror or str(error)
                self._last_probe_at = time.monotonic()
            return self._silent_since is None

    def check(self) -> None:
        """Blocks, as `answers`. HeadSilent: it has been so for longer than a restart takes."""
        if not self.answers and (since := self._silent_since) is not None:
            seconds = time.monotonic() - since
            if seconds >= _RESTART_TIMEOUT_S:
                raise HeadNotResponding(self._address, seconds, self._why)


@contextlib.contextmanager
def survive_head_exit(ray: Any) -> Iterator[None]:
    """For the time in which Ray connects. By itself it ends this program, with no exception and no `finally`, when the
    head has not answered for a minute; it reads how long as it connects. Who has said how long is left with that."""
    if _SETTING in os.environ:
        yield
        return
    os.environ[_SETTING] = str(_NO_TIMEOUT_S)
    try:
        with contextlib.suppress(Exception):  # there may be no such thing in another Ray
            ray._raylet.Config.initialize("")  # it was read before, when it was loaded
        yield
    finally:
        os.environ.pop(_SETTING, None)
