"""Place: a task of a store by its name, looked at anew each time. What everything that waits works with."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from nacre.base.frozen import replace
from nacre.tasks.store.control_client import NEVER, Line, connect, too_many
from nacre.tasks.store.directory import Folder, Unusable, open_store
from nacre.tasks.store.status import broken, look
from nacre.tasks.store.task import Task

_FIRST_PAUSE, _LAST_PAUSE = 0.02, 0.5
"""Seconds until a keeper that cannot be reached (it is starting, or has too many callers) is tried again."""


class Place:
    __slots__ = ("_known", "id", "store")

    def __init__(self, store: str, name: str, known: Task | None = None) -> None:
        self.store = store
        self.id = name
        self._known = known

    def find(self) -> Task | None:
        """How it stands; None if it is not there."""
        store = open_store(self.store)
        if store is None:
            return None
        try:
            return look(self.store, store, self.id)
        finally:
            os.close(store)

    def look(self) -> Task:
        """How it stands. One that has been removed meanwhile is broken."""
        found = self.find()
        if found is None:
            gone = broken(self.store, self.id, "it was removed")
            if self._known is None or self._known.state == "broken":
                return gone
            return replace(self._known, state="broken", outcome=None, idle=None, problem=gone.problem)
        self._known = found
        return found

    @contextlib.contextmanager
    def opened(self) -> Iterator[Folder]:
        """FileNotFoundError: it is not there."""
        store = open_store(self.store)
        if store is None:
            raise FileNotFoundError(self.store)
        try:
            folder = Folder(self.store, store, self.id)
        finally:
            os.close(store)
        with folder:
            yield folder

    def reach(self, *, to_wait: bool = True) -> Line | None:
        """Its keeper; None if it cannot be reached now. Who only waits can do without, if there are many who do."""
        if to_wait and too_many():
            return None
        try:
            with self.opened() as folder:
                line = connect(folder)
        except (OSError, Unusable):
            return None
        return None if line is None else Line(line)

    async def over(self) -> Task:
        """As it is when it does not run any more."""
        import asyncio  # only whoever waits has loaded it

        pause = _FIRST_PAUSE
        while True:
            with contextlib.suppress(OSError):  # no descriptor left to look with: perhaps there is one later
                if not (task := self.look()).alive:
                    return task
                if (line := self.reach()) is not None:
                    with line:
                        await line.watch(NEVER)
                    if not (task := self.look()).alive:
                        return task
            await asyncio.sleep(pause)
            pause = min(_LAST_PAUSE, pause * 2)
