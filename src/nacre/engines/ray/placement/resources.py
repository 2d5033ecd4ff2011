"""What a run needs of a node, what it has been given, and the words for whoever gets nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nacre.base.frozen import frozen
from nacre.errors import EngineUnavailable

_NODE_ID = "ray.io/node-id"
AT = "node:"
"""Every node has this resource, with its address."""


@frozen(kw_only=True)
class ResourceRequest:
    """What each run needs, and where it may be."""

    bundle: Mapping[str, float]
    labels: Mapping[str, str]
    node: str | None = None

    @property
    def pinned(self) -> bool:
        """No other node will do."""
        return self.node is not None or _NODE_ID in self.labels or any(name.startswith(AT) for name in self.bundle)

    def node_labels(self, lost: set[str]) -> dict[str, str]:
        """The labels of a node that will do; none that was lost."""
        if self.node is not None:
            return {**self.labels, _NODE_ID: self.node}
        if not lost or self.pinned:
            return dict(self.labels)
        return {**self.labels, _NODE_ID: f"!in({','.join(sorted(lost))})"}

    def __str__(self) -> str:
        needs = ", ".join(f"{amount:g} {name}" for name, amount in self.bundle.items())
        return needs + "".join(f", {name}={value}" for name, value in self.node_labels(set()).items())


class Lease(NamedTuple):
    """A reservation of Ray's."""

    node: str
    group: Any


def engine_closed() -> EngineUnavailable:
    return EngineUnavailable("This engine was closed.", "Make another.")


def no_matching_node(demand: ResourceRequest) -> EngineUnavailable:
    return EngineUnavailable(
        f"No node of the cluster could ever hold a command that needs {demand}.",
        "Ask for less, or for other labels, or add such a node.",
    )


def node_gone(node: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"Node {node} is not in the Ray cluster, or not any more.", "Make an engine for another one; see `ray status`."
    )
