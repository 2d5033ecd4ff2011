"""Background jobs: calls that may take a while and that no caller waits for. One thread runs them in order, and exits
when there are none. Jobs can be added by any thread, and by signal handlers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable


class BackgroundJobs:
    """A queue of jobs with a thread named `name`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.RLock()  # a signal handler may run while this thread holds it
        self._due: deque[Callable[[], None]] = deque()
        self._runner: threading.Thread | None = None

    def add(self, do: Callable[[], None]) -> None:
        """Add a job. Never blocks. An exception of the job is ignored."""
        with self._lock:
            self._due.append(do)
            if self._runner is None:
                runner = threading.Thread(target=self._run, name=self._name, daemon=True)
                runner.start()  # if no thread can be started, the next job tries again
                self._runner = runner

    def wait_until_done(self, seconds: float) -> bool:
        """Wait for at most `seconds`. Return whether all jobs are done."""
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
