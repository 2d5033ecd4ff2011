"""Stop a process tree that may grow faster than it can be listed.

Each process gets SIGSTOP as soon as its PID is known, before anything is read about it: a thousand runnable processes
leave the keeper a thousandth of the machine, and each stopped one gives some of it back. The search repeats until it
finds nothing new.
"""

from __future__ import annotations

import os
import signal
import time

from nacre.keeper.protocol import procfs

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEFAULT_SIGNALS = [s for s in signal.valid_signals() if s not in (signal.SIGKILL, signal.SIGSTOP)]
_KILL_POLL_S = 0.002
_GIVE_UP_CPU_S = 2.0
"""Seconds of CPU time to spend on stopping a run that keeps growing; every other run waits meanwhile."""


def send_signal(pid: int, number: int) -> None:
    """Send a signal and ignore errors."""
    try:
        os.kill(pid, number)
    except OSError:
        pass  # gone, or another user's: the next check shows it


def kill_tagged(first: int, last: int, timeout_s: float) -> None:
    """Kill all processes on the machine with a tag in the range, and wait until none is left, at most `timeout_s`
    seconds. Gives up if no file descriptor is free to find them."""
    until = time.monotonic() + timeout_s
    try:
        while alive := procfs.find_by_tag(first, last):
            for pid in alive:
                send_signal(pid, signal.SIGKILL)
            if time.monotonic() > until:
                return
            time.sleep(_KILL_POLL_S)
    except OSError:
        pass


def stop_processes(pids: Iterable[int]) -> None:
    for pid in pids:
        send_signal(pid, signal.SIGSTOP)


def stop_tree(find_roots: Callable[[], set[int]]) -> set[int]:
    """Stop the roots and all their descendants; return the PIDs of all stopped processes. `find_roots` is called
    repeatedly: when a process dies, its children become roots."""
    until = time.thread_time() + _GIVE_UP_CPU_S
    stopped: set[int] = set()
    todo = list(find_roots())
    while todo and time.thread_time() < until:
        stop_processes(todo)
        stopped.update(todo)
        while todo:
            children = [child for child in procfs.children_of(todo.pop()) if child not in stopped]
            stop_processes(children)
            stopped.update(children)
            todo += children
        roots = find_roots()
        todo = list(roots - stopped or procfs.descendant_pids(roots) - stopped)
    return stopped
