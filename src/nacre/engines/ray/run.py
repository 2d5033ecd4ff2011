"""A run on a node, as the driver sees it: placed, streaming, ended, or lost with its node.

Nothing is read ahead but what Ray's own back-pressure lets through. Where it goes on as a task, or leaves one, the
agent has seen to that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nacre.base.frozen import replace
from nacre.cancel import Cancel
from nacre.engines.ray.cluster.connection import Connection, LeftCluster, NodeLost
from nacre.engines.ray.cluster.futures import looked_at
from nacre.engines.ray.node.agent_pool import Agents, Reached
from nacre.engines.ray.node.payload import Final, Sent
from nacre.engines.ray.node.task_ids import final_at
from nacre.engines.ray.placement.resources import Lease
from nacre.engines.ray.placement.slots import Places
from nacre.errors import EngineUnavailable, InvalidRequest
from nacre.execution.start import unless_cancelled
from nacre.keeper.client.events import Happening, Printed, Stopped, Vanished
from nacre.keeper.protocol.ending import CANCEL
from nacre.result import TaskRef
from nacre.types import Plan

if TYPE_CHECKING:
    from nacre.engines.ray.engine import RayEngine

_AHEAD = 4
"""Items that an agent sends before somebody takes one: four megabytes of a flood."""
_LATE = 120.0
"""Seconds that the end of a run may be late, all in all: the agent itself gives up its keeper long before that."""

Items = list[Happening | Final]


class RayRun:
    def __init__(
        self,
        engine: RayEngine,
        sent: Callable[[Places], Sent],
        plan: Plan,
        state: int | None,
        retries: int,
    ) -> None:
        """The cluster may have to be looked for, which takes long: that is done by `next`, which can be cancelled."""
        self._loop = asyncio.get_running_loop()
        self._engine = engine
        self._laid_out = sent
        self._plan = plan
        self._state = state
        self._retries = retries
        self._cancel = Cancel()
        self._places: Places | None = None
        self._held: tuple[Lease, Reached] | None = None
        """Where it is."""
        self._id = ""
        """Its name there."""
        self._stream: Stream | None = None
        self._due = float("inf")
        """When its agent must have told its end; unless there is so much that nobody has read yet."""
        self._happened: deque[Happening] = deque()
        self._began = self._last_output = self._loop.time()
        self._lost = ""
        """Why it has to begin again."""
        self.listening = True
        self.task: TaskRef | None = None
        self.remarks: tuple[str, ...] = ()
        self.unheld: frozenset[str] = frozenset()

    @property
    def last_output(self) -> float:
        return self._last_output - self._began

    async def next(self) -> Happening:
        while not self._happened:
            if self._held is None:
                await self._begin()
            else:
                await self._hear(*self._held)
        return self._happened.popleft()

    async def _begin(self) -> None:
        try:
            held = await self._find()
        except EngineUnavailable as error:
            self.listening = False
            if not self._lost:
                raise
            self._vanish(f"{self._lost}, and it could not be started again: {error.message}")
            return
        if held is None:
            self._conclude(Final(word=Stopped(0, CANCEL, self._loop.time() - self._began, False, (), ())))
            return
        if self._lost:
            note = f"[nacre: {self._lost}; what follows is from another run of it]\n".encode()
            self._happened.append(Printed("stdout" if self._plan.merge else "stderr", note))
            self.remarks = (*self.remarks, f"It was started again, from its beginning, because {self._lost}.")
        self._start(*held)

    async def _find(self) -> tuple[Lease, Reached] | None:
        """None: cancelled first."""
        if self._places is None:
            self._places = self._engine.at_hand() or await unless_cancelled(self._cancel, self._engine.places())
        return None if self._places is None else await self._places.find(self._cancel)

    def _start(self, lease: Lease, agent: Reached) -> None:
        assert self._places is not None
        self._id = os.urandom(8).hex()
        plan, id = self._plan, self._id
        self._due = self._loop.time() + min(plan.timeout, plan.yield_after or plan.timeout) + plan.grace + _LATE
        try:
            items = agent.call("run", replace(self._laid_out(self._places), id=id), ahead=_AHEAD)
            self._stream = Stream(items, self._places.connection)
        except NodeLost as lost:
            self._lose(lease, agent, lost)
            return
        except BaseException:
            self._places.release(lease)
            raise
        self._held = lease, agent

        def cancel() -> None:
            with contextlib.suppress(NodeLost):
                agent.call("cancel", id)

        self._cancel.on_cancel(cancel)

    async def _hear(self, lease: Lease, agent: Reached) -> None:
        assert self._stream is not None
        assert self._places is not None
        try:
            items = await self._stream.next(self._places.agents, agent, self._is_overdue)
        except NodeLost as lost:
            self._lose(lease, agent, lost)
            return
        for item in items:
            if isinstance(item, Final):
                self._conclude(item)
                return
            if isinstance(item, Printed):
                self._last_output = self._loop.time()
            self._happened.append(item)

    def _lose(self, lease: Lease, agent: Reached, lost: NodeLost) -> None:
        assert self._places is not None
        self._places.lose(lease, lost, agent)
        if self._stream is not None:
            self._stream.close()
        self._held = self._stream = None
        self._lost = "its engine was closed" if self._places.closed else lost.reason
        goes_on = not (self._places.closed or self._cancel.cancelled or isinstance(lost, LeftCluster))
        if self._retries and goes_on:
            self._retries -= 1
            return
        self._vanish(self._lost)

    def _vanish(self, reason: str) -> None:
        self.listening = False
        self._happened.append(Vanished(reason, self._loop.time() - self._began, ()))

    def _conclude(self, final: Final) -> None:
        self.listening = False
        if isinstance(final.word, InvalidRequest):
            self._refuse(final.word)
            return
        if self._state is not None and final.told:
            os.pwrite(self._state, final.told, 0)
        if self._held is not None:
            assert self._places is not None
            (lease, agent), self._held = self._held, None
            if final.task is not None:
                self._places.release_after_task(lease, agent, self._plan.task_dir, final.task.id)
            else:
                self._places.release(lease)
            final = final_at(final, lease.node)
        self.task, self.remarks = final.task, (*self.remarks, *final.remarks)
        self.unheld = final.unheld
        assert not isinstance(final.word, InvalidRequest)
        self._happened.append(final.word)

    def _refuse(self, error: InvalidRequest) -> None:
        """Its node cannot carry it out as it stands: that is raised, as by every engine, if nothing was printed yet."""
        if self._held is not None:
            assert self._places is not None
            (lease, _), self._held = self._held, None
            self._places.release(lease)
        if not self._lost:
            raise error
        self._vanish(f"{self._lost}, and it could not be started again: {error.message}")

    def cancel(self) -> None:
        self._due = min(self._due, self._loop.time() + self._plan.grace + _LATE)
        self._cancel.cancel()

    def _is_overdue(self) -> bool:
        return self._loop.time() > self._due

    def close(self) -> None:
        if not self.listening:
            return
        self.listening = False
        self._cancel.cancel()
        if self._held is not None:
            (lease, agent), self._held = self._held, None
            assert self._stream is not None
            assert self._places is not None
            self._stream.close()
            self._places.release_after_end(lease, agent, self._id, self._plan.grace)
            self._places.connection.cancel(self._stream.generator)

    def let_go(self) -> None:
        self.listening = False

    def pause(self) -> list[Printed]:
        return []

    def resume(self) -> None: ...


class Stream:
    """What an agent yields, item by item. One that was waited for in vain comes next."""

    def __init__(self, generator: Any, connection: Connection) -> None:
        self.generator = generator
        self._connection = connection
        self._waiting: asyncio.Future[Items] | None = None

    async def next(self, agents: Agents, agent: Reached, overdue: Callable[[], bool]) -> Items:
        if self._waiting is None:
            self._waiting = looked_at(asyncio.ensure_future(self._item()))
        items = await agents.answer(agent, self._waiting, overdue)
        self._waiting = None
        return items

    async def _item(self) -> Items:
        """Ray ends the whole process when a stream of a connection that is no more is asked for what comes next: so
        that is awaited first, where Ray lets us, and only then taken."""
        self._connection.check()
        if (peek := getattr(self.generator, "_get_next_ref_n", None)) is not None:
            try:
                items: Items = await peek(1)[0]
            except Exception:  # the end, or why there is none: which of them, the stream knows
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
