"""Copies a shell's exit state to the host through a pipe, where the command may not write files of that size.

RLIMIT_FSIZE applies to every write to a regular file, including a memory file (memfd), and the shell that writes its
exit state is bound by the command's own limit: `echo hi | cat` with `Limits(file_size=1)` would be killed by SIGXFSZ.
Writes to a pipe do not count. The pipe is opened for reading and writing, so that a shell which keeps running as a task
after the host has closed it gets no SIGPIPE; and non-blocking, so that the shell never waits for a reader.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

from nacre.base.system import LINUX, grow_pipe
from nacre.execution.exit_state import MAX_STATE_BYTES
from nacre.keeper.client.events import FinalEvent
from nacre.types import Plan

_READ_BYTES = 64 * 1024


def needs_state_pipe(plan: Plan) -> bool:
    """Return whether the command's limit is too small for the exit state of its shell. Portable mode sets no limits."""
    limit = plan.limits.file_size
    return LINUX and limit is not None and limit < MAX_STATE_BYTES


class StatePipe:
    """The far end of a local run (`RemoteEnd`): copies what the shell writes to the state file that the host reads."""

    def __init__(self, state: int) -> None:
        """Open the pipe and start copying to the file `state`. OSError: out of descriptors."""
        self._state = state
        self._left = MAX_STATE_BYTES + 1
        """Bytes still to be copied: one more than a reader of the file accepts. The rest is read and dropped."""
        ends = os.pipe()
        try:
            self.fd: int | None = os.open(f"/proc/self/fd/{ends[0]}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            """Both ends of the pipe; None when closed."""
        finally:
            for end in ends:
                os.close(end)
        grow_pipe(self.fd)  # a large environment fits, even if the host is busy when the shell exits
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.fd, self._copy)

    def translate_end(self, word: FinalEvent) -> FinalEvent:
        self._copy()
        return word

    def cancel(self) -> None: ...

    def close(self) -> None:
        if self.fd is None:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(self.fd)
        os.close(self.fd)
        self.fd = None

    def _copy(self) -> None:
        """Copy a bounded amount: the command may write to the pipe, too, without pause."""
        if self.fd is None:
            return
        unread = MAX_STATE_BYTES
        with contextlib.suppress(OSError):  # no more data now, or out of memory for the copy
            while unread > 0:
                data = os.read(self.fd, _READ_BYTES)
                unread -= len(data)
                os.write(self._state, data[: self._left])
                self._left -= min(self._left, len(data))
