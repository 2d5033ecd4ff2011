"""The agent: an actor of Ray that runs commands on a node with the local engine. One per node and driver.

The driver owns it, so it exits with the driver; its keeper then sees its host exit and kills every run. The code uses
nothing of Ray: it only has methods that are called, and yields items that are taken.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import Any

from nacre import __version__
from nacre.base.system import memory_file
from nacre.engines.local import LOCAL
from nacre.engines.ray.node import workspace as workspaces
from nacre.engines.ray.node.batches import EventBatches
from nacre.engines.ray.node.payload import FinalMessage, RunPayload, localise, translate_state
from nacre.engines.ray.node.workspace import ShippedWorkspace
from nacre.errors import InvalidRequest
from nacre.execution.background import start_background
from nacre.execution.execution import collector_for
from nacre.execution.foreground import ForegroundRun, kill_and_wait
from nacre.keeper.client.events import OutputChunk, RunEvent, RunStopped
from nacre.keeper.client.handle import RunHandle
from nacre.keeper.protocol.ending import CANCELLED
from nacre.protected_paths import Protection, restore_snapshot, take_snapshot
from nacre.result import Event
from nacre.tasks.tasks import Tasks

_MAX_REMEMBERED_RUNS = 10_000
_MAX_STATE_BYTES = 4 * 1024 * 1024 + 1
_KEEPER_MARGIN_S = 5.0
"""Seconds beyond its grace that a run may take to end."""


class Agent:
    """Runner of commands on one node for one driver."""

    def __init__(self) -> None:
        self._runs: dict[str, RunHandle] = {}
        self._ended: dict[str, asyncio.Event] = {}
        self._cancelled: dict[str, None] = {}
        """Ids of runs that were cancelled before they began: Ray does not guarantee the order of calls."""
        self._settling: set[asyncio.Future[None]] = set()
        self._unpacking = asyncio.Lock()
        self._workspace: int | None = None
        """Descriptor with a lock on the workspace's copy, so that no other process removes it."""

    async def hello(self) -> str:
        """Return nacre's version on this node."""
        return __version__

    # a workspace

    async def needs_workspace(self, workspace: ShippedWorkspace) -> bool:
        """Return whether the workspace's archive is missing on this node."""
        return not await asyncio.to_thread(workspaces.has_archive, workspace.digest)

    async def unpack(self, workspace: ShippedWorkspace, archive: bytes | None) -> None:
        """Unpack the workspace for this agent; first store its archive, if given."""
        async with self._unpacking:
            if archive is not None:
                await asyncio.to_thread(workspaces.keep_archive, workspace.digest, archive)
            if self._workspace is None:
                self._workspace = await asyncio.to_thread(workspaces.unpack, workspace)

    # a run

    async def run(self, sent: RunPayload) -> AsyncGenerator[list[RunEvent | FinalMessage], None]:
        """Run a command and yield its events, in batches if they come fast; last, a `FinalMessage`."""
        over = self._ended[sent.id] = asyncio.Event()
        run: RunHandle | None = None
        protection: Protection | None = None
        with contextlib.ExitStack() as undo:  # no await in clean-up: the caller may be gone by then
            undo.callback(lambda: self._leave(sent, run, protection, over))
            try:
                plan, ctx, below = await localise(sent)
            except InvalidRequest as error:
                yield [FinalMessage(event=_translate_refusal(error, sent.workspace))]
                return
            state = memory_file(b"") if sent.reports_state else None
            if state is not None:
                undo.callback(os.close, state)
            protection = await take_snapshot(plan)
            if sent.id in self._cancelled:
                yield [FinalMessage(event=RunStopped(0, CANCELLED, 0.0))]
                return
            run = self._runs[sent.id] = await LOCAL.start(plan, state)
            if sent.id in self._cancelled:
                run.cancel()
            collector = collector_for(plan)  # a task's log begins with its output, if the run becomes one
            undo.callback(collector.close)
            foreground = ForegroundRun(run, collector, plan, ctx, protection)
            packs = EventBatches(foreground)
            undo.callback(packs.close)
            while packs.last is None:
                pack = await packs.next()
                if plan.timing.yield_after is not None:  # output for the log, if the run is promoted
                    for happening in pack:
                        if isinstance(happening, OutputChunk):
                            collector.feed(happening.stream, happening.data)
                if packs.last is None:
                    yield [*pack]
            await foreground.adopt(packs.last)
            told = (
                b"" if state is None else translate_state(os.pread(state, _MAX_STATE_BYTES, 0), below, sent.workspace)
            )
            undone = await asyncio.shield(foreground.restore())
            unheld, protection = frozenset() if protection is None else protection.unenforced_rules, None
            notes = tuple(_localise_context(note, sent.workspace) for note in (*plan.notes, *foreground.notes, *undone))
            yield [
                *pack,
                FinalMessage(
                    event=packs.last, task=foreground.task, notes=notes, exit_state=told, unenforced_rules=unheld
                ),
            ]

    def _leave(
        self, sent: RunPayload, run: RunHandle | None, protection: Protection | None, over: asyncio.Event
    ) -> None:
        self._runs.pop(sent.id, None)
        self._cancelled.pop(sent.id, None)
        if run is not None and (run.is_active or protection is not None):
            settling = asyncio.ensure_future(self._wait_for_end(sent.id, run, protection, sent.plan.timing.grace))
            self._settling.add(settling)
            settling.add_done_callback(self._settling.discard)
            return
        if run is not None:
            run.close()
        del self._ended[sent.id]
        over.set()

    async def _wait_for_end(self, id: str, run: RunHandle, protection: Protection | None, grace: float) -> None:
        """Cancel a run that no caller waits for, and wait for its end."""
        try:
            await kill_and_wait(run, grace + _KEEPER_MARGIN_S)
            run.close()
            await _restore_protection(protection)
        finally:
            self._ended.pop(id).set()

    async def cancel(self, id: str) -> None:
        """Cancel a run, or remember that for one that has not begun."""
        if id in self._runs:
            self._runs[id].cancel()
            return
        self._cancelled[id] = None
        if len(self._cancelled) > _MAX_REMEMBERED_RUNS:
            del self._cancelled[next(iter(self._cancelled))]

    async def wait_run(self, id: str) -> None:
        """Return when no process of the run is left."""
        if id in self._ended:
            await self._ended[id].wait()

    # tasks

    async def start_task(self, sent: RunPayload) -> list[Event] | InvalidRequest:
        """Start a task on this node. Return the events until it runs; an InvalidRequest is returned, not raised."""
        try:
            plan, ctx, _ = await localise(sent)
            return [event async for event in start_background(plan, ctx, LOCAL)]
        except InvalidRequest as error:
            return _translate_refusal(error, sent.workspace)

    async def wait_task(self, directory: str | None, task: str) -> None:
        """Return when the task has ended."""
        with contextlib.suppress(InvalidRequest):
            await Tasks(directory).wait(task)

    async def tasks(self, directory: str | None, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of `Tasks`. An InvalidRequest is returned, not raised."""
        try:
            found = getattr(Tasks(directory), method)(*args, **options)
            return await found if asyncio.iscoroutine(found) else found
        except InvalidRequest as error:
            return error


async def _restore_protection(protection: Protection | None) -> list[str]:
    return [] if protection is None else await asyncio.shield(restore_snapshot(protection))


def _localise_context(note: str, workspace: ShippedWorkspace | None) -> str:
    return note if workspace is None else note.replace(workspace.root, workspace.here)


def _translate_refusal(error: InvalidRequest, workspace: ShippedWorkspace | None) -> InvalidRequest:
    """Return the error with the driver's paths."""
    return type(error)(error.code, _localise_context(error.message, workspace), field=error.field, hint=error.hint)
