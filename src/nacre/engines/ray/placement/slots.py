"""Places: a lease and the agent on its node, together, and how both are given back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from nacre.cancel import Cancel
from nacre.engines.ray.cluster.connection import AgentEnded, ClusterConnection, LeftCluster, NodeLost
from nacre.engines.ray.node.agent_pool import AgentConnection, AgentPool
from nacre.engines.ray.placement.leases import Leases
from nacre.engines.ray.placement.resources import Lease
from nacre.errors import EngineUnavailable
from nacre.execution.start import run_unless_cancelled

_MAX_LOST_NODES = 3
"""How many nodes may turn out to be lost before anything was asked of them."""
_AGENT_CLEANUP_S = 60.0
"""Seconds in which an agent has ended what nobody waits for, however busy it is."""


class Slots:
    def __init__(self, connection: ClusterConnection, leases: Leases, agents: AgentPool) -> None:
        self.connection = connection
        self.agents = agents
        self.leases = leases
        self.closed = False

    async def find(self, cancel: Cancel) -> tuple[Lease, AgentConnection] | None:
        """None: cancelled first. Pair every lease with one of the following."""
        for _ in range(_MAX_LOST_NODES):
            lease = await self.leases.acquire(cancel)
            if lease is None:
                return None
            try:
                agent = self.agents.recent_agent(lease.node) or await run_unless_cancelled(
                    cancel, self.agents.agent_on(lease.node)
                )
            except LeftCluster:
                raise
            except NodeLost as lost:
                self.on_lost(lease, lost)
            except BaseException:
                self.release(lease)
                raise
            else:
                if agent is not None:
                    self.leases.end_quarantine(lease.node)
                    return lease, agent
                self.release(lease)
                return None
        raise EngineUnavailable("The nodes that Ray has chosen do not answer.", "Look at `ray status`.")

    def release(self, lease: Lease) -> None:
        self.leases.release(lease)

    def release_after_end(self, lease: Lease, agent: AgentConnection, run: str, grace: float) -> None:
        """When nothing of a run that was given up runs any more; if nobody says so, when its agent has been ended."""
        with contextlib.suppress(LeftCluster):  # then there is no lease, either
            late = self._release_after(lease, agent, agent.call("wait_run", run))
            with contextlib.suppress(RuntimeError):  # no loop any more: the program is about to end
                asyncio.get_running_loop().call_later(grace + _AGENT_CLEANUP_S, late)

    def release_after_task(self, lease: Lease, agent: AgentConnection, directory: str | None, task: str) -> None:
        """While this program lives, a task holds what it was given."""
        with contextlib.suppress(LeftCluster):
            self._release_after(lease, agent, agent.call("wait_task", directory, task))

    def _release_after(self, lease: Lease, agent: AgentConnection, answer: Any) -> Callable[[], None]:
        """When that has come. If none comes, there is no agent any more, which the function that is given back says."""
        held = [lease]

        def done(future: Future[Any] | None = None) -> None:
            with contextlib.suppress(IndexError):  # that was said before
                lease = held.pop()
                if future is not None and future.exception() is None:
                    self.release(lease)
                else:  # beside: this may be the very thread that would hear Ray's answer
                    self.leases.jobs.add(lambda: self.on_lost(lease, AgentEnded(agent.node), agent))

        answer.future().add_done_callback(done)
        return done

    def on_lost(self, lease: Lease, lost: NodeLost, agent: AgentConnection | None = None) -> None:
        """Nothing more is placed there if the node may be gone; if it was the agent alone, another one will do."""
        if agent is not None:
            self.agents.drop(agent)
        if not isinstance(lost, AgentEnded):
            self.leases.quarantine(lease.node)
        self.leases.give_back(lease)

    def close(self) -> None:
        self.closed = True
        self.leases.close()
        self.agents.close()
