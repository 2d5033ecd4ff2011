"""The agent: what runs commands on a node, with the local engine. An actor of Ray's; one per node and driver.

It belongs to the driver, so that it ends when that does, and its keeper, which sees its host go, ends every run. Knows
nothing of Ray but that somebody calls its methods and takes what they yield.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import Any

from nacre import __version__
from nacre.base.frozen import replace
from nacre.base.system import payload
from nacre.capture import Collector
from nacre.engines.local import LOCAL
from nacre.engines.ray.node import workspace as workspaces
from nacre.engines.ray.node.batches import Packs
from nacre.engines.ray.node.payload import Final, Sent, as_told_here, laid_out
from nacre.engines.ray.node.workspace import Shipped
from nacre.errors import InvalidRequest
from nacre.execution.background import begin
from nacre.execution.foreground import Following
from nacre.keeper.client.connection import private_directory
from nacre.keeper.client.events import Happening, Printed, Stopped
from nacre.keeper.client.handle import Live
from nacre.keeper.protocol.ending import CANCEL
from nacre.protected_paths import Protection, remember, restored
from nacre.result import Event
from nacre.tasks.tasks import Tasks
from nacre.types import Plan, Request

_REMEMBERED = 10_000
_TOLD = 4 * 1024 * 1024 + 1
_LATE = 5.0
"""Seconds after its grace that a run may take to end."""


class Agent:
    def __init__(self) -> None:
        self._runs: dict[str, Live] = {}
        self._over: dict[str, asyncio.Event] = {}
        self._unwanted: dict[str, None] = {}
        """Cancelled before it began: Ray does not promise to keep the order of calls."""
        self._settling: set[asyncio.Future[None]] = set()
        self._unpacking = asyncio.Lock()
        self._workspace: int | None = None
        """Held open, so that nobody removes it."""

    async def hello(self) -> str:
        return __version__

    # a workspace

    async def lacks(self, workspace: Shipped) -> bool:
        return not await asyncio.to_thread(workspaces.has_archive, workspace.digest)

    async def unpack(self, workspace: Shipped, archive: bytes | None) -> None:
        async with self._unpacking:
            if archive is not None:
                await asyncio.to_thread(workspaces.keep_archive, workspace.digest, archive)
            if self._workspace is None:
                self._workspace = await asyncio.to_thread(workspaces.unpack, workspace)

    # a run

    async def run(self, sent: Sent) -> AsyncGenerator[list[Happening | Final], None]:
        """What happens, several at a time if they come fast; at last, how it ended."""
        over = self._over[sent.id] = asyncio.Event()
        run: Live | None = None
        guard: Protection | None = None
        with contextlib.ExitStack() as undo:  # the caller may be gone by then: nothing is awaited
            undo.callback(lambda: self._leave(sent, run, guard, over))
            try:
                plan, ctx, below = await laid_out(sent)
            except InvalidRequest as error:
                yield [Final(word=_refused_here(error, sent.workspace))]
                return
            state = payload(b"") if sent.tells else None
            if state is not None:
                undo.callback(os.close, state)
            guard = await remember(plan)
            if sent.id in self._unwanted:
                yield [Final(word=Stopped(0, CANCEL, 0.0, False, (), ()))]
                return
            run = self._runs[sent.id] = await LOCAL.start(plan, state)
            if sent.id in self._unwanted:
                run.cancel()
            collector = _collector(plan)
            undo.callback(collector.close)
            request = Request(plan.text.decode("utf-8", "surrogateescape"))
            following = Following(run, collector, request, ctx, plan, guard)
            packs = Packs(following)
            undo.callback(packs.close)
            while packs.last is None:
                pack = await packs.next()
                if plan.yield_after is not None:  # it may have to begin a log with that
                    for happening in pack:
                        if isinstance(happening, Printed):
                            collector.feed(happening.stream, happening.data)
                if packs.last is None:
                    yield [*pack]
            await following.adopt(packs.last)
            told = b"" if state is None else as_told_here(os.pread(state, _TOLD, 0), below, sent.workspace)
            undone = await asyncio.shield(following.restore())
            unheld, guard = frozenset() if guard is None else guard.unheld, None
            remarks = tuple(_as_here(remark, sent.workspace) for remark in (*plan.remarks, *following.remarks, *undone))
            yield [*pack, Final(word=packs.last, task=following.task, remarks=remarks, told=told, unheld=unheld)]

    def _leave(self, sent: Sent, run: Live | None, guard: Protection | None, over: asyncio.Event) -> None:
        self._runs.pop(sent.id, None)
        self._unwanted.pop(sent.id, None)
        if run is not None and (run.listening or guard is not None):
            settling = asyncio.ensure_future(self._settle(sent.id, run, guard, sent.plan.grace))
            self._settling.add(settling)
            settling.add_done_callback(self._settling.discard)
            return
        if run is not None:
            run.close()
        del self._over[sent.id]
        over.set()

    async def _settle(self, id: str, run: Live, guard: Protection | None, grace: float) -> None:
        """See the end of a run that nobody waits for."""
        try:
            if run.listening:
                run.cancel()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace + _LATE):
                    while run.listening:
                        await run.next()
            run.close()
            await _restored(guard)
        finally:
            self._over.pop(id).set()

    async def cancel(self, id: str) -> None:
        if id in self._runs:
            self._runs[id].cancel()
            return
        self._unwanted[id] = None
        if len(self._unwanted) > _REMEMBERED:
            del self._unwanted[next(iter(self._unwanted))]

    async def ended(self, id: str) -> None:
        """When nothing of it runs any more."""
        if id in self._over:
            await self._over[id].wait()

    # tasks

    async def begin(self, sent: Sent, request: Request) -> list[Event] | InvalidRequest:
        """A task of this node, as far as its start."""
        try:
            plan, ctx, _ = await laid_out(sent)
            return [event async for event in begin(replace(request, cwd=None), ctx, plan, LOCAL)]
        except InvalidRequest as error:
            return _refused_here(error, sent.workspace)

    async def outlived(self, directory: str | None, task: str) -> None:
        """When a task has ended."""
        with contextlib.suppress(InvalidRequest):
            await Tasks(directory).wait(task)

    async def tasks(self, directory: str | None, method: str, *args: Any, **options: Any) -> Any:
        """A method of `Tasks`; what it refuses is an answer."""
        try:
            found = getattr(Tasks(directory), method)(*args, **options)
            return await found if asyncio.iscoroutine(found) else found
        except InvalidRequest as error:
            return error


async def _restored(guard: Protection | None) -> list[str]:
    return [] if guard is None else await asyncio.shield(restored(guard))


def _as_here(remark: str, workspace: Shipped | None) -> str:
    return remark if workspace is None else remark.replace(workspace.root, workspace.here)


def _refused_here(error: InvalidRequest, workspace: Shipped | None) -> InvalidRequest:
    """With the names that the driver knows."""
    return type(error)(error.code, _as_here(error.message, workspace), field=error.field, hint=error.hint)


def _collector(plan: Plan) -> Collector:
    """For what a task's log begins with, if it becomes one."""
    return Collector(
        limit=plan.output, spill=plan.spill, directory=private_directory, name=plan.spill_name, merge=plan.merge
    )
