"""The tasks of a cluster with the interface of `Tasks`, for the tools of a model and for the command line.

`Tasks` reads a directory; this class queries nodes, which takes a while, and blocks in methods that are not async.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncGenerator, Sequence
from typing import Any, NoReturn

from nacre.base.threads import block_on
from nacre.engines.ray.tasks import RayTasks
from nacre.errors import InvalidRequest
from nacre.tasks.store.log_reader import MAX_READ_BYTES, Output
from nacre.tasks.store.task import Task
from nacre.tasks.tasks import Tasks
from nacre.tasks.wait import WaitCondition, WaitResult

_POLL_INTERVAL_S = 0.5
"""Seconds between reads of a task's output: each is a call to its node."""
_CLEAN = "Run `nacre clean` on each node; tasks that ended a week ago are removed automatically."


class ClusterTasks(Tasks):
    """Tasks of a Ray cluster; see `Tasks`."""

    def __init__(self, tasks: RayTasks) -> None:
        self.directory = tasks.directory or "the Ray cluster"
        self._tasks = tasks

    def list(self, *, all: bool = True) -> builtins.list[Task]:
        return [placed.task for placed in block_on(self._tasks.list(all=all))]

    def get(self, id: str) -> Task:
        return block_on(self._tasks.get(id)).task

    def output(self, id: str, *, since: int = 0, lines: int | None = None, limit: int = MAX_READ_BYTES) -> Output:
        return block_on(self._tasks.output(id, since=since, lines=lines, limit=limit))

    async def follow(self, id: str, *, since: int = 0) -> AsyncGenerator[Output, None]:
        while True:
            output = await self._tasks.output(id, since=since)
            over = not output.task.alive and not output.more
            if output.data or output.dropped or over:
                yield output
            if over:
                return
            since = output.cursor
            if not output.more:
                await asyncio.sleep(_POLL_INTERVAL_S)

    async def wait(
        self,
        ids: str | Sequence[str],
        *,
        any: bool = False,
        timeout: float | None = None,
        until: WaitCondition | None = None,
    ) -> WaitResult:
        named = [(await self._tasks.get(id)).task.id for id in ([ids] if isinstance(ids, str) else ids)]
        named = builtins.list(dict.fromkeys(named))
        waits = [asyncio.ensure_future(self._tasks.wait(id, timeout=timeout, until=until)) for id in named]
        pending = set(waits)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                if [each for each in done if each.result().met] and any:
                    break
            heard = [wait.result() if wait.done() else None for wait in waits]
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        told = [heard[n] or await self._current_state(id) for n, id in enumerate(named)]
        met = tuple(id for each in told for id in each.met)
        return WaitResult(
            tasks=tuple(task for each in told for task in each.tasks),
            met=met,
            ended=tuple(id for each in told for id in each.ended),
            timed_out=True in [each.timed_out for each in told] and not (any and met),
            match={id: line for each in told for id, line in each.match.items()},
        )

    async def _current_state(self, id: str) -> WaitResult:
        """Return the state of a task that is no longer waited for."""
        return WaitResult(tasks=((await self._tasks.get(id)).task,), met=(), ended=(), timed_out=False, match={})

    async def kill(self, id: str, *, signal: int | str = "TERM", grace: float = 5.0) -> Task:
        return await self._tasks.kill(id, signal=signal, grace=grace)

    async def write(self, id: str, data: bytes | str, *, close: bool = False) -> None:
        await self._tasks.write(id, data, close=close)

    async def close_stdin(self, id: str) -> None:
        await self._tasks.close_stdin(id)

    async def completions(self, *, poll_new: float = 1.0) -> AsyncGenerator[Task, None]:
        over = {placed.task.id for placed in await self._tasks.list() if not placed.task.alive}
        while True:
            await asyncio.sleep(poll_new)
            for placed in await self._tasks.list():
                if not placed.task.alive and placed.task.id not in over:
                    over.add(placed.task.id)
                    yield placed.task

    def clean(self, **_: Any) -> NoReturn:
        """Raise InvalidRequest: nodes clean their own stores."""
        raise InvalidRequest(
            "not_on_a_cluster", "Tasks of a cluster are cleaned on their nodes.", field="engine", hint=_CLEAN
        )
