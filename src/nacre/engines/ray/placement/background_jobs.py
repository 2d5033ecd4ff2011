"""Errands: what may take a while, and nobody waits for; one after the other, in one thread for all of them, which is
there for as long as there is something to do. Any thread may ask, and a signal handler."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable


class BackgroundJobs:
    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.RLock()  # a signal handler may come while this thread has it
        self._due: deque[Callable[[], None]] = deque()
        self._runner: threading.Thread | None = None

    def add(self, do: Callable[[], None]) -> None:
        """Never blocks. What it raises is lost."""
        with self._lock:
            self._due.append(do)
            if self._runner is None:
                runner = threading.Thread(target=self._run, name=self._name, daemon=True)
                runner.start()  # if there is none to be had, the next errand tries again
                self._runner = runner

    def wait_until_done(self, seconds: float) -> bool:
        """Whether all is done, after so many seconds at most."""
        until = time.monotonic() + seconds
        while (runner := self._runner) is not None and runner is not threading.current_thread():
            runner.join(max(until - time.monotonic(), 0.0))
            if runner.is_alive():
                return False
        return True

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._runner = None
                    return
                do = self._due.popleft()
            with contextlib.suppress(Exception):
                do()
