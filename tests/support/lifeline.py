"""Lifeline: a FIFO that every process of a command holds open. EOF shows that the last holder is dead.

    await bash.run(f"{life.hold} (setsid sleep 60 &); sleep 60")

No process of the command closes it by accident: neither `setsid`, nor `env -i`, nor a closed stdout does.
"""

from __future__ import annotations

import asyncio
import os
import select
from pathlib import Path

import pytest

from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S

_HELD = b"held\n"


class Lifeline:
    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.hold = f"exec 7>{quote(path)}; echo held >&7;"
        """Shell text that opens the FIFO; the shell and every process that it starts afterwards hold it."""
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._read = b""
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def close(self) -> None:
        os.close(self._fd)

    @property
    def holders(self) -> int:
        """Number of shells that have run `hold` so far."""
        self._take(0)
        return self._read.count(_HELD)

    @property
    def over(self) -> bool:
        """Whether there were holders and all are dead."""
        return self.holders > 0 and self._take(0)

    def wait_held(self, by: int = 1, *, within: float = HANG_TIMEOUT_S) -> None:
        """Wait until `hold` has run `by` times."""
        for _ in range(int(within * 100)):
            if self.holders >= by:
                return
            self._poll.poll(10)
        pytest.fail(f"only {self.holders} of {by} processes opened {self.path} in {within:g} s")

    def wait_over(self, *, within: float = HANG_TIMEOUT_S) -> None:
        for _ in range(int(within * 100)):
            if self.over:
                return
            self._take(10)
        pytest.fail(f"a process still holds {self.path} open after {within:g} s")

    async def wait_until_held(self, by: int = 1, *, within: float = HANG_TIMEOUT_S) -> None:
        await asyncio.to_thread(self.wait_held, by, within=within)

    async def wait_until_ended(self, *, within: float = HANG_TIMEOUT_S) -> None:
        await asyncio.to_thread(self.wait_over, within=within)

    def _take(self, milliseconds: int) -> bool:
        """Read what the FIFO has; return whether no process holds it open now."""
        while events := self._poll.poll(milliseconds):
            try:
                data = os.read(self._fd, 65536)
            except BlockingIOError:
                return False
            if not data:
                return bool(events[0][1] & select.POLLHUP)
            self._read += data
        return False


class Gate:
    """A FIFO at which a command waits until the test opens it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        """Path of the FIFO. Writing a line to it opens the gate, from another process, too."""
        self.wait = f"read -r _ <{quote(path)}"
        """Shell text that waits until the gate is opened."""
        self._fd = os.open(path, os.O_RDWR)  # both ends: opening never blocks, and no write is lost

    def open(self, times: int = 1) -> None:
        os.write(self._fd, b"go\n" * times)

    def close(self) -> None:
        os.close(self._fd)
