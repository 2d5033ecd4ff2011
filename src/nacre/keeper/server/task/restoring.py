"""Restore the protected paths of an ended task by a program, before its end is written down."""

from __future__ import annotations

import signal
import time

from nacre.keeper.protocol.restore_paths import RESTORE_MAX_S, UNRESTORED, read_notes, spawn_restorer
from nacre.keeper.protocol.signals import send_signal
from nacre.keeper.server.children import ChildTable
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.run import Run, RunningTask

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

_FAILED = UNRESTORED % "the comparison failed"


class PathRestorer:
    """The programs that restore paths, one for each task that has just ended."""

    __slots__ = ("_children", "_finish", "_loop", "_pids")

    def __init__(self, loop: EventLoop, children: ChildTable, finish: Callable[[Run], None]) -> None:
        """`finish` is called with the run once its paths are restored."""
        self._loop = loop
        self._children = children
        self._finish = finish
        self._pids: dict[int, int] = {}
        """By the run's tag: PID of its program."""

    def restore(self, run: Run, task: RunningTask) -> bool:
        """Start to restore the paths of an ended task if there is a snapshot of them, but only once. Returns whether
        that goes on."""
        if task.over_at is None:
            task.over_at = time.monotonic()
            if task.record.protection:
                try:
                    pid = spawn_restorer(task.record.task_dir, task.record.protection)
                except OSError as error:
                    task.notes = [UNRESTORED % error.strerror]
                else:
                    self._pids[run.tag] = pid
                    self._children.helpers[pid] = lambda status: self._on_exit(run, task, status)
                    self._loop.call_at(task.over_at + RESTORE_MAX_S, run.tag, lambda: self._give_up(run, task))
        return run.tag in self._pids

    def _on_exit(self, run: Run, task: RunningTask, status: int) -> None:
        del self._pids[run.tag]
        try:
            task.notes = read_notes(task.record.task_dir) if not status else [_FAILED]
        except OSError:
            task.notes = [_FAILED]
        self._finish(run)

    def _give_up(self, run: Run, task: RunningTask) -> None:
        """Give up a program that hangs. It may even be unkillable."""
        pid = self._pids.pop(run.tag, None)
        if pid is None:
            return
        self._children.helpers[pid] = lambda _: None
        send_signal(pid, signal.SIGKILL)
        task.notes = [UNRESTORED % f"that took more than {RESTORE_MAX_S:g} seconds"]
        self._finish(run)
