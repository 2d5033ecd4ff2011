"""The head of the cluster: check that it answers, and keep its exit from ending this program.

Without a head, nothing is placed and no death is reported; Ray waits for it silently. Does not depend on the code that
waits.
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
"""Seconds for which a probe's result is reused."""
_RESTART_TIMEOUT_S = 10.0
"""Seconds for a restarted head to come back, before waiting callers get an error."""
_SETTING = "RAY_gcs_rpc_server_reconnect_timeout_s"
_NO_TIMEOUT_S = 365 * 24 * 3600


class HeadNotResponding(EngineUnavailable):
    """The head does not answer, so nothing can be placed."""

    def __init__(self, address: str, seconds: float, why: str) -> None:
        super().__init__(
            f"The head of the Ray cluster ({address}) has not answered for {seconds:.0f} seconds: {why}.",
            "Start the cluster again, then call `ray.shutdown()` or restart this program: the next command connects "
            "again.",
        )


class Head:
    """Liveness of the head. For any thread."""

    def __init__(self, address: str, knock: Callable[[str], None]) -> None:
        self._address = address
        self._probe_address = knock
        """Raises OSError if no process listens."""
        self._lock = threading.Lock()
        self._last_probe_at = float("-inf")
        self._silent_since: float | None = None
        self._why = ""

    @property
    def answers(self) -> bool:
        """Whether the head answers. Blocks while it is probed; concurrent callers share the result."""
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
        """Raise HeadNotResponding if the head was silent for longer than a restart takes. Blocks, as `answers`."""
        if not self.answers and (since := self._silent_since) is not None:
            seconds = time.monotonic() - since
            if seconds >= _RESTART_TIMEOUT_S:
                raise HeadNotResponding(self._address, seconds, self._why)


@contextlib.contextmanager
def survive_head_exit(ray: Any) -> Iterator[None]:
    """Keep Ray from exiting this process, without an exception or `finally`, once the head has not answered for a
    minute.

    Ray reads that timeout while it connects, so this context must enclose connecting. A timeout set by the user is
    kept.
    """
    if _SETTING in os.environ:
        yield
        return
    os.environ[_SETTING] = str(_NO_TIMEOUT_S)
    try:
        with contextlib.suppress(Exception):  # other versions of Ray may not have it
            ray._raylet.Config.initialize("")  # Ray has read the setting before, when it was imported
        yield
    finally:
        os.environ.pop(_SETTING, None)
