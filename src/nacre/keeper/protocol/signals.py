"""Stop a tree of processes that may grow faster than one can look.

Each process is sent SIGSTOP as soon as its number is known, before anything is looked up about it: a thousand that want
to run leave the keeper a thousandth of the machine, and each one that stands still gives some of it back. Looking goes
on until nothing new turns up.
"""

from __future__ import annotations

import os
import signal
import time

from nacre.keeper.protocol import procfs

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEFAULT_SIGNALS = [s for s in signal.valid_signals() if s not in (signal.SIGKILL, signal.SIGSTOP)]
_GIVE_UP_CPU_S = 2.0
"""Seconds of computing that everything else may have to wait while a run is stopped that does not stop growing."""


def send_signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # gone, or another user's: the next look tells


def stop_processes(pids: Iterable[int]) -> None:
    for pid in pids:
        send_signal(pid, signal.SIGSTOP)


def stop_tree(find_roots: Callable[[], set[int]]) -> set[int]:
    """Stop the roots and everything below them; gives all that was stopped. `find_roots` is asked again and again: when
    a process dies, its children become roots."""
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
