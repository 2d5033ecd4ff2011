"""A user without processes, for programs that are hosts of their own: the limit is not given back."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator


def limit_processes(room: int) -> None:
    """From now on this user may have so many more than there are."""
    most = _threads_of_this_user() + room
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def _threads_of_this_user() -> int:
    """Which is what the kernel counts."""
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{pid}/task"))
    return count


@contextlib.contextmanager
def no_process_left() -> Iterator[list[subprocess.Popen[bytes]]]:
    """All that may be are there; the ones in the list are ours, until the end. `end` one, and one may be started."""
    held: list[subprocess.Popen[bytes]] = []
    with contextlib.suppress(BlockingIOError):
        while len(held) < resource.getrlimit(resource.RLIMIT_NPROC)[0]:  # which does not hold for root
            held.append(subprocess.Popen(["sleep", "300"]))
    try:
        yield held
    finally:
        for each in held:
            end(each)


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
