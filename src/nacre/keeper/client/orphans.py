"""What a dead keeper left behind: found by its tag, and ended. The only killing that the host does itself."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time

from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.ending import UNKILLABLE_AFTER_S
from nacre.keeper.protocol.signals import send_signal
from nacre.result import Process

_KILL_TIMEOUT_S = 0.2
_POLL_INTERVAL_S = 0.002


def kill_orphans(first: int, last: int) -> None:
    """At once, and whoever called it waits: nobody may be left who would come back to it. What does not die in a moment
    is left to `kill_tagged_orphans`, and so is all of it if there is no descriptor to look with."""
    until = time.monotonic() + _KILL_TIMEOUT_S
    with contextlib.suppress(OSError):
        while alive := procfs.find_by_tag(first, last):
            for pid in alive:
                send_signal(pid, signal.SIGKILL)
            if time.monotonic() > until:
                return
            time.sleep(_POLL_INTERVAL_S)


async def kill_tagged_orphans(first: int, last: int, shell: int | None = None) -> tuple[Process, ...]:
    """Nothing that carries one of these tags is alive afterwards, except what is returned; as far as one can look."""
    until = time.monotonic() + UNKILLABLE_AFTER_S
    while True:
        try:
            alive = procfs.find_by_tag(first, last, shell)
        except OSError:  # no descriptor to look with: others of this process may be about to be closed
            if time.monotonic() > until:
                return ()
            await asyncio.sleep(0.01)
            continue
        for pid in alive:
            send_signal(pid, signal.SIGKILL)
        if not alive or time.monotonic() > until:
            return tuple(Process(seen.pid, seen.pgid, procfs.command_line(seen)) for seen in alive.values())
        await asyncio.sleep(0.01)
