"""Slots: a lease together with the agent on its node, and how both are released."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from nacre.cancel import Cancel, run_unless_cancelled
from nacre.engines.ray.cluster.connection import AgentEnded, ClusterConnection, LeftCluster, NodeLost
from nacre.engines.ray.node.agent_pool import AgentConnection, AgentPool
from nacre.engines.ray.placement.leases import Leases
from nacre.engines.ray.placement.resources import Lease
from nacre.errors import EngineUnavailable

_MAX_LOST_NODES = 3
"""Nodes that may turn out to be lost before anything was started on them."""
_AGENT_CLEANUP_S = 60.0
"""Seconds in which an agent, however busy, has killed an abandoned run."""


class Slots:
    """The slots of one engine: find one for a run, and release it."""

    def __init__(self, connection: ClusterConnection, leases: Leases, agents: AgentPool) -> None:
        self.connection = connection
        self.agents = agents
        self.leases = leases
        self.closed = False

    async def find(self, cancel: Cancel) -> tuple[Lease, AgentConnection] | None:
        """Return a lease and the agent on its node; None if cancelled first. Pass every lease to one of the methods
        below.

        EngineUnavailable: there is no slot, or the chosen nodes do not answer.
        """
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
        raise EngineUnavailable("The nodes that Ray selected do not answer.", "See `ray status`.")

    def release(self, lease: Lease) -> None:
        """Release the lease of a run that has ended."""
        self.leases.release(lease)

    def release_after_end(self, lease: Lease, agent: AgentConnection, run: str, grace: float) -> None:
        """Release the lease when no process of an abandoned run is left. If the agent does not report that in time,
        kill the agent."""
        with contextlib.suppress(LeftCluster):  # then the lease is gone, too
            late = self._release_after(lease, agent, agent.call("wait_run", run))
            with contextlib.suppress(RuntimeError):  # no event loop: the program is about to exit
                asyncio.get_running_loop().call_later(grace + _AGENT_CLEANUP_S, late)

    def release_after_task(self, lease: Lease, agent: AgentConnection, directory: str | None, task: str) -> None:
        """Release the lease when a task has ended; the task holds it while this program lives."""
        with contextlib.suppress(LeftCluster):
            self._release_after(lease, agent, agent.call("wait_task", directory, task))

    def _release_after(self, lease: Lease, agent: AgentConnection, answer: Any) -> Callable[[], None]:
        """Release the lease when the answer arrives. If the call fails, or the returned function is called first, treat
        the agent as lost."""
        held = [lease]

        def on_answer(future: Future[Any] | None = None) -> None:
            with contextlib.suppress(IndexError):  # already done
                lease = held.pop()
                if future is not None and future.exception() is None:
                    self.release(lease)
                else:  # in another thread: this one may have to receive Ray's answer
                    self.leases.jobs.add(lambda: self.on_lost(lease, AgentEnded(agent.node), agent))

        answer.future().add_done_callback(on_answer)
        return on_answer

    def on_lost(self, lease: Lease, lost: NodeLost, agent: AgentConnection | None = None) -> None:
        """Drop the agent and return the lease to Ray. Place nothing on the node for a while, unless only the agent has
        exited."""
        if agent is not None:
            self.agents.drop(agent)
        if not isinstance(lost, AgentEnded):
            self.leases.quarantine(lease.node)
        self.leases.give_back(lease)

    def close(self) -> None:
        """Release all leases and agents, and refuse waiting runs."""
        self.closed = True
        self.leases.close()
        self.agents.close()
