"""All descendants of this process: the processes that it has started, and those that they have left behind."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.census import command_line, is_alive, parent_and_session, pids

_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def become_subreaper() -> Iterator[None]:
    """Make orphans children of this process instead of init, so that neither a keeper, which has almost no environment,
    nor a daemon can be left unnoticed."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def list_descendants() -> dict[int, str]:
    """Return the living descendants of this process: command line by PID."""
    parents = {pid: parent_and_session(pid)[0] for pid in pids()}
    found, new = set[int](), {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new}
        found |= new
    return {pid: command_line(pid) for pid in found if is_alive(pid)}


def reap_orphans() -> None:
    """Reap orphans that became children of this process. Only call it while no code waits for a child."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
