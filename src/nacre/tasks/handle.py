"""A task of a store, referred to by its id and read anew on each access. Used by everything that waits for a task."""

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
"""Delays in seconds between attempts to reach a keeper that is starting, or has too many clients."""


class TaskHandle:
    """A task of a store by its full id. `known` is its last known state."""

    __slots__ = ("_last_task", "id", "store")

    def __init__(self, store: str, name: str, known: Task | None = None) -> None:
        self.store = store
        self.id = name
        self._last_task = known

    def find(self) -> Task | None:
        """Return the task's current state; None if it does not exist."""
        store = open_store(self.store)
        if store is None:
            return None
        try:
            return read_task(self.store, store, self.id)
        finally:
            os.close(store)

    def read(self) -> Task:
        """Return the task's current state. A task that was removed is returned as `broken`, with its last known
        fields."""
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
        """Open the task's directory. FileNotFoundError: it does not exist. InvalidTaskDirectory: it is not one of this
        user."""
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
        """Connect to the task's keeper; None if it cannot be reached now.

        With `to_wait`, None also when this process holds many connections: a caller that only waits can poll instead.
        """
        if to_wait and has_too_many():
            return None
        try:
            with self.open_directory() as folder:
                line = connect(folder)
        except (OSError, InvalidTaskDirectory):
            return None
        return None if line is None else ControlConnection(line)

    async def wait_until_ended(self) -> Task:
        """Wait until the task no longer runs, and return its state."""
        import asyncio  # imported only for callers that wait

        pause = _MIN_RETRY_DELAY_S
        while True:
            with contextlib.suppress(OSError):  # out of descriptors: retry later
                if not (task := self.read()).alive:
                    return task
                if (line := self.connect()) is not None:
                    with line:
                        await line.watch(UNTIL_END)
                    if not (task := self.read()).alive:
                        return task
            await asyncio.sleep(pause)
            pause = min(_MAX_RETRY_DELAY_S, pause * 2)
