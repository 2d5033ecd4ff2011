"""Limits on the processes of this user, for short-lived host programs: `limit_processes` is never undone."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator


def limit_processes(room: int) -> None:
    """Limit this user to `room` more processes and threads than there are now."""
    most = _threads_of_this_user() + room
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def _threads_of_this_user() -> int:
    """Count this user's threads, as the kernel does for RLIMIT_NPROC."""
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{pid}/task"))
    return count


@contextlib.contextmanager
def no_process_left() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start processes up to the limit; yield them, and kill them at the end. `end` one to make room for another."""
    held: list[subprocess.Popen[bytes]] = []
    with contextlib.suppress(BlockingIOError):
        while len(held) < resource.getrlimit(resource.RLIMIT_NPROC)[0]:  # the limit does not apply to root
            held.append(subprocess.Popen(["sleep", "300"]))
    try:
        yield held
    finally:
        for each in held:
            end(each)


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
