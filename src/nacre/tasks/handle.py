"""Place: a task of a store by its name, looked at anew each time. What everything that waits works with."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from nacre.base.frozen import replace
from nacre.tasks.store.control_client import UNTIL_END, ControlConnection, connect, has_too_many
from nacre.tasks.store.directory import InvalidTaskDirectory, TaskDirectory, open_store
from nacre.tasks.store.status import read_task, unreadable_task
from nacre.tasks.store.task import Task

_MIN_RETRY_DELAY_S, _MAX_RETRY_DELAY_S = 0.02, 0.5
"""Seconds until a keeper that cannot be reached (it is starting, or has too many callers) is tried again."""


class TaskHandle:
    __slots__ = ("_last_task", "id", "store")

    def __init__(self, store: str, name: str, known: Task | None = None) -> None:
        self.store = store
        self.id = name
        self._last_task = known

    def find(self) -> Task | None:
        """How it stands; None if it is not there."""
        store = open_store(self.store)
        if store is None:
            return None
        try:
            return read_task(self.store, store, self.id)
        finally:
            os.close(store)

    def read(self) -> Task:
        """How it stands. One that has been removed meanwhile is broken."""
        found = self.find()
        if found is None:
            gone = unreadable_task(self.store, self.id, "it was removed")
            if self._last_task is None or self._last_task.state == "broken":
                return gone
            return replace(self._last_task, state="broken", outcome=None, idle=None, problem=gone.problem)
        self._last_task = found
        return found

    @contextlib.contextmanager
    def open_directory(self) -> Iterator[TaskDirectory]:
        """FileNotFoundError: it is not there."""
        store = open_store(self.store)
        if store is None:
            raise FileNotFoundError(self.store)
        try:
            folder = TaskDirectory(self.store, store, self.id)
        finally:
            os.close(store)
        with folder:
            yield folder

    def connect(self, *, to_wait: bool = True) -> ControlConnection | None:
        """Its keeper; None if it cannot be reached now. Who only waits can do without, if there are many who do."""
        if to_wait and has_too_many():
            return None
        try:
            with self.open_directory() as folder:
                line = connect(folder)
        except (OSError, InvalidTaskDirectory):
            return None
        return None if line is None else ControlConnection(line)

    async def wait_until_ended(self) -> Task:
        """As it is when it does not run any more."""
        import asyncio  # only whoever waits has loaded it

        pause = _MIN_RETRY_DELAY_S
        while True:
            with contextlib.suppress(OSError):  # no descriptor left to look with: perhaps there is one later
                if not (task := self.read()).alive:
                    return task
                if (line := self.connect()) is not None:
                    with line:
                        await line.watch(UNTIL_END)
                    if not (task := self.read()).alive:
                        return task
            await asyncio.sleep(pause)
            pause = min(_MAX_RETRY_DELAY_S, pause * 2)
