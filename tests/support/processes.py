"""A user without processes, for programs that are hosts of their own: the limit is not given back."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator

import pytest


def as_user(user: int) -> list[str]:
    """How root starts a program as somebody whom such a limit holds, and who may still read all that root may: this
    Python and the project, wherever they are. Skips the test where that cannot be had."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv, to run as another user")
    may = "-all,+dac_read_search"
    capabilities = [f"--{which}={may}" for which in ("inh-caps", "ambient-caps", "bounding-set")]
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *capabilities]


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
