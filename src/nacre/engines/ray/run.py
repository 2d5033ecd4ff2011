"""A run on a node, as the driver sees it: placed, streaming, ended, or lost with its node.

Output is read ahead only as far as Ray's back-pressure allows. If the run becomes a task, or leaves one, the agent has
arranged that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nacre.base.frozen import replace
from nacre.cancel import Cancel, run_unless_cancelled
from nacre.engines.ray.cluster.connection import ClusterConnection, LeftCluster, NodeLost
from nacre.engines.ray.cluster.futures import ignore_result
from nacre.engines.ray.node.agent_pool import AgentConnection, AgentPool
from nacre.engines.ray.node.payload import FinalMessage, RunPayload
from nacre.engines.ray.node.task_ids import qualify_final
from nacre.engines.ray.placement.resources import Lease
from nacre.engines.ray.placement.slots import Slots
from nacre.errors import EngineUnavailable, InvalidRequest
from nacre.keeper.client.events import KeeperLost, OutputChunk, RunEvent, RunStopped
from nacre.keeper.protocol.ending import CANCELLED
from nacre.result import TaskRef
from nacre.types import Plan

if TYPE_CHECKING:
    from nacre.engines.ray.engine import RayEngine

_MAX_UNREAD_ITEMS = 4
"""Items that an agent sends ahead of the reader: 4 MiB when a command prints without pause."""
_END_MARGIN_S = 120.0
"""Seconds that the end of a run may be late, in total: the agent itself gives up on its keeper long before."""

Items = list[RunEvent | FinalMessage]


class RayRun:
    """Handle of a run on a node of the cluster."""

    def __init__(
        self,
        engine: RayEngine,
        sent: Callable[[Slots], RunPayload],
        plan: Plan,
        state: int | None,
        retries: int,
    ) -> None:
        """Prepare the run. Connecting to the cluster may take long, so `next` does it, which can be cancelled."""
        self._loop = asyncio.get_running_loop()
        self._engine = engine
        self._localised_plan = sent
        self._plan = plan
        self._state = state
        self._retries = retries
        self._cancel = Cancel()
        self._slots: Slots | None = None
        self._slot: tuple[Lease, AgentConnection] | None = None
        """Its lease and agent, while it is placed."""
        self._id = ""
        """Its id on the agent."""
        self._stream: AgentStream | None = None
        self._due = float("inf")
        """Loop time by which its agent must have reported its end; not checked while unread items are available."""
        self._events: deque[RunEvent] = deque()
        self._began = self._last_output = self._loop.time()
        self._lost = ""
        """Reason for starting it again."""
        self.is_active = True
        self.task: TaskRef | None = None
        self.notes: tuple[str, ...] = ()
        self.unenforced_rules: frozenset[str] = frozenset()

    @property
    def last_output(self) -> float:
        return self._last_output - self._began

    async def next(self) -> RunEvent:
        while not self._events:
            if self._slot is None:
                await self._begin()
            else:
                await self._on_item(*self._slot)
        return self._events.popleft()

    async def _begin(self) -> None:
        try:
            held = await self._find()
        except EngineUnavailable as error:
            self.is_active = False
            if not self._lost:
                raise
            self._emit_lost(f"{self._lost}, and it could not be started again: {error.message}")
            return
        if held is None:
            self._emit_final(FinalMessage(event=RunStopped(0, CANCELLED, self._loop.time() - self._began)))
            return
        if self._lost:
            note = f"[nacre: {self._lost}; the output below is from a new run]\n".encode()
            self._events.append(OutputChunk("stdout" if self._plan.merge else "stderr", note))
            self.notes = (*self.notes, f"It was restarted from the beginning because {self._lost}.")
        self._start(*held)

    async def _find(self) -> tuple[Lease, AgentConnection] | None:
        """Return a slot; None if cancelled first."""
        if self._slots is None:
            self._slots = self._engine.is_connected() or await run_unless_cancelled(self._cancel, self._engine.slots())
        return None if self._slots is None else await self._slots.find(self._cancel)

    def _start(self, lease: Lease, agent: AgentConnection) -> None:
        assert self._slots is not None
        self._id = os.urandom(8).hex()
        plan, id = self._plan, self._id
        timing = plan.timing
        longest = min(timing.timeout, timing.yield_after or timing.timeout)
        self._due = self._loop.time() + longest + timing.grace + _END_MARGIN_S
        try:
            items = agent.call("run", replace(self._localised_plan(self._slots), id=id), ahead=_MAX_UNREAD_ITEMS)
            self._stream = AgentStream(items, self._slots.connection)
        except NodeLost as lost:
            self._mark_lost(lease, agent, lost)
            return
        except BaseException:
            self._slots.release(lease)
            raise
        self._slot = lease, agent

        def cancel() -> None:
            with contextlib.suppress(NodeLost):
                agent.call("cancel", id)

        self._cancel.on_cancel(cancel)

    async def _on_item(self, lease: Lease, agent: AgentConnection) -> None:
        assert self._stream is not None
        assert self._slots is not None
        try:
            items = await self._stream.next(self._slots.agents, agent, self._is_overdue)
        except NodeLost as lost:
            self._mark_lost(lease, agent, lost)
            return
        for item in items:
            if isinstance(item, FinalMessage):
                self._emit_final(item)
                return
            if isinstance(item, OutputChunk):
                self._last_output = self._loop.time()
            self._events.append(item)

    def _mark_lost(self, lease: Lease, agent: AgentConnection, lost: NodeLost) -> None:
        assert self._slots is not None
        self._slots.on_lost(lease, lost, agent)
        if self._stream is not None:
            self._stream.close()
        self._slot = self._stream = None
        self._lost = "its engine was closed" if self._slots.closed else lost.reason
        may_retry = not (self._slots.closed or self._cancel.cancelled or isinstance(lost, LeftCluster))
        if self._retries and may_retry:
            self._retries -= 1
            return
        self._emit_lost(self._lost)

    def _emit_lost(self, reason: str) -> None:
        self.is_active = False
        self._events.append(KeeperLost(reason, self._loop.time() - self._began, ()))

    def _emit_final(self, final: FinalMessage) -> None:
        self.is_active = False
        if isinstance(final.event, InvalidRequest):
            self._refuse(final.event)
            return
        if self._state is not None and final.exit_state:
            os.pwrite(self._state, final.exit_state, 0)
        if self._slot is not None:
            assert self._slots is not None
            (lease, agent), self._slot = self._slot, None
            if final.task is not None:
                self._slots.release_after_task(lease, agent, self._plan.task.directory, final.task.id)
            else:
                self._slots.release(lease)
            final = qualify_final(final, lease.node)
        self.task, self.notes = final.task, (*self.notes, *final.notes)
        self.unenforced_rules = final.unenforced_rules
        assert not isinstance(final.event, InvalidRequest)
        self._events.append(final.event)

    def _refuse(self, error: InvalidRequest) -> None:
        """Raise the error of a node that refuses the run, as every engine does; report the run as lost if it was
        started before, since it may have printed."""
        if self._slot is not None:
            assert self._slots is not None
            (lease, _), self._slot = self._slot, None
            self._slots.release(lease)
        if not self._lost:
            raise error
        self._emit_lost(f"{self._lost}, and it could not be started again: {error.message}")

    def cancel(self) -> None:
        self._due = min(self._due, self._loop.time() + self._plan.timing.grace + _END_MARGIN_S)
        self._cancel.cancel()

    def _is_overdue(self) -> bool:
        return self._loop.time() > self._due

    def close(self) -> None:
        if not self.is_active:
            return
        self.is_active = False
        self._cancel.cancel()
        if self._slot is not None:
            (lease, agent), self._slot = self._slot, None
            assert self._stream is not None
            assert self._slots is not None
            self._stream.close()
            self._slots.release_after_end(lease, agent, self._id, self._plan.timing.grace)
            self._slots.connection.cancel(self._stream.generator)

    def detach(self) -> None:
        self.is_active = False

    def pause(self) -> list[OutputChunk]:
        return []

    def resume(self) -> None: ...


class AgentStream:
    """The items that an agent yields. An item that was awaited in vain is returned by the next call."""

    def __init__(self, generator: Any, connection: ClusterConnection) -> None:
        self.generator = generator
        self._connection = connection
        self._waiting: asyncio.Future[Items] | None = None

    async def next(self, agents: AgentPool, agent: AgentConnection, overdue: Callable[[], bool]) -> Items:
        if self._waiting is None:
            self._waiting = ignore_result(asyncio.ensure_future(self._item()))
        items = await agents.wait_reply(agent, self._waiting, overdue)
        self._waiting = None
        return items

    async def _item(self) -> Items:
        """Return the next item. Ray exits the whole process when the next item is requested of a stream whose
        connection is lost; so the item is awaited first, if this version of Ray can, and only then taken."""
        self._connection.check()
        if (peek := getattr(self.generator, "_get_next_ref_n", None)) is not None:
            try:
                items: Items = await peek(1)[0]
            except Exception:  # end of the stream, or an error: `anext` tells which
                self._connection.check()
            else:
                self._connection.check()
                await anext(self.generator)
                return items
        last: Items = await (await anext(self.generator))
        return last

    def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
