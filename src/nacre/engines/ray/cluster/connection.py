"""One connection to a cluster, for as long as it is that one; and what it means that somebody there does not answer.

Ray itself connects anew, or even starts a cluster, when it is asked something without a connection: whoever asks it
looks here first. A program may leave the cluster and join one again; nothing of the old connection is of use then.
"""

from __future__ import annotations

import contextlib
from typing import Any

from nacre.engines.ray.cluster.head import Head
from nacre.errors import EngineUnavailable

_LEFT = "This program has left the Ray cluster."


class NodeLost(EngineUnavailable):
    """It does not answer."""

    def __init__(self, node: str) -> None:
        super().__init__(f"Node {node} of the Ray cluster does not answer.", "Look at `ray status`.")
        self.reason = f"node {node[:8]} of the Ray cluster, or nacre's agent there, was lost"
        """For whoever had something there."""


class AgentEnded(NodeLost):
    """The agent has, which says nothing about the node."""


class LeftCluster(NodeLost):
    """This program has, and with it all that was its own there has gone."""

    def __init__(self) -> None:
        EngineUnavailable.__init__(self, _LEFT, "What comes next connects again.")
        self.reason = "this program has left the Ray cluster"


class ClusterConnection:
    def __init__(self, ray: Any, head: Head) -> None:
        self.ray = ray
        self.head = head
        self._id = _identity(ray)

    @property
    def alive(self) -> bool:
        """It is there, and no other has come in its place."""
        return self._id is not None and _identity(self.ray) == self._id

    def check(self) -> None:
        if not self.alive:
            raise LeftCluster

    def cancel(self, call: Any) -> None:
        """A call that nobody waits for; never raises."""
        self._try("cancel", call)

    def kill(self, actor: Any) -> None:
        """Never raises: what cannot be ended has gone with the connection."""
        self._try("kill", actor)

    def _try(self, what: str, whom: Any) -> None:
        if self.alive:
            with contextlib.suppress(Exception):  # it has just ended by itself
                getattr(self.ray, what)(whom)


def _identity(ray: Any) -> Any:
    """Drawn by lot for each connection; a job's number may come again in another cluster. None: there is none."""
    if not ray.is_initialized():
        return None
    try:
        return ray._private.worker.global_worker.worker_id
    except AttributeError:  # it goes just now
        return None
