"""Everything that this process is to answer for: what it has started, and what that has left behind."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.census import command_line, is_alive, parent_and_session, pids

_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def no_way_out() -> Iterator[None]:
    """What loses its parent becomes a child of this process, not of init: neither a keeper, which has next to no
    environment, nor a daemon can be left without being seen."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def list_descendants() -> dict[int, str]:
    """What is alive below this process, by pid."""
    parents = {pid: parent_and_session(pid)[0] for pid in pids()}
    found, new = set[int](), {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new}
        found |= new
    return {pid: command_line(pid) for pid in found if is_alive(pid)}


def bury() -> None:
    """Orphans that have come to us and died. Only while nobody waits for a child."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
