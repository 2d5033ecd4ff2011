"""A connection to a cluster, and the errors for a node, an agent or a connection that is lost.

Ray connects anew, or even starts a cluster, when it is called without a connection; so callers check the connection
first. A program may leave a cluster and join one again; nothing of the old connection can be used then.
"""

from __future__ import annotations

import contextlib
from typing import Any

from nacre.engines.ray.cluster.head import Head
from nacre.errors import EngineUnavailable

_LEFT = "This program has left the Ray cluster."


class NodeLost(EngineUnavailable):
    """A node does not answer."""

    def __init__(self, node: str) -> None:
        super().__init__(f"Node {node} of the Ray cluster does not answer.", "See `ray status`.")
        self.reason = f"node {node[:8]} of the Ray cluster, or nacre's agent there, was lost"
        """Reason to report for a run or task on that node."""


class AgentEnded(NodeLost):
    """The agent has exited; its node may still be alive."""


class LeftCluster(NodeLost):
    """This program has left the cluster, and everything it owned there is gone."""

    def __init__(self) -> None:
        EngineUnavailable.__init__(self, _LEFT, "The next command connects again.")
        self.reason = "this program has left the Ray cluster"


class ClusterConnection:
    """One connection to a Ray cluster."""

    def __init__(self, ray: Any, head: Head) -> None:
        self.ray = ray
        self.head = head
        self._id = _identity(ray)

    @property
    def alive(self) -> bool:
        """Whether the connection exists and was not replaced by another."""
        return self._id is not None and _identity(self.ray) == self._id

    def check(self) -> None:
        """Raise LeftCluster if the connection is lost."""
        if not self.alive:
            raise LeftCluster

    def cancel(self, call: Any) -> None:
        """Cancel a call whose result is no longer awaited. Never raises."""
        self._try("cancel", call)

    def kill(self, actor: Any) -> None:
        """Kill an actor. Never raises: an actor that cannot be killed is gone with the connection."""
        self._try("kill", actor)

    def _try(self, what: str, whom: Any) -> None:
        if self.alive:
            with contextlib.suppress(Exception):  # it has just ended
                getattr(self.ray, what)(whom)


def _identity(ray: Any) -> Any:
    """Return the worker id of the connection; None if there is none. It is random, whereas a job id may occur again in
    another cluster."""
    if not ray.is_initialized():
        return None
    try:
        return ray._private.worker.global_worker.worker_id
    except AttributeError:  # being disconnected
        return None
