"""Kill the processes that a dead keeper left behind, found by their tags. The only killing that the host does
itself."""

from __future__ import annotations

import asyncio
import signal
import time

from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.ending import UNKILLABLE_AFTER_S
from nacre.keeper.protocol.signals import kill_tagged, send_signal
from nacre.result import Process

_KILL_TIMEOUT_S = 0.2


def kill_orphans(first: int, last: int) -> None:
    """Kill all processes with a tag in the range, synchronously: a caller that awaited this could be cancelled.

    Processes that survive for 0.2 s are left to `kill_tagged_orphans`, as are all if no file descriptor is free.
    """
    kill_tagged(first, last, _KILL_TIMEOUT_S)


async def kill_tagged_orphans(first: int, last: int, shell: int | None = None) -> tuple[Process, ...]:
    """Kill all processes with a tag in the range; return those that survive for 1 s. Returns nothing if /proc stays
    unreadable for lack of file descriptors."""
    until = time.monotonic() + UNKILLABLE_AFTER_S
    while True:
        try:
            alive = procfs.find_by_tag(first, last, shell)
        except OSError:  # no file descriptor: others of this process may be closed soon
            if time.monotonic() > until:
                return ()
            await asyncio.sleep(0.01)
            continue
        for pid in alive:
            send_signal(pid, signal.SIGKILL)
        if not alive or time.monotonic() > until:
            return tuple(Process(seen.pid, seen.pgid, procfs.command_line(seen)) for seen in alive.values())
        await asyncio.sleep(0.01)
