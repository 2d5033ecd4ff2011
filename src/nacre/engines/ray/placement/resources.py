"""The resources that a run needs, its lease, and the errors for runs that cannot get one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nacre.base.frozen import frozen
from nacre.errors import EngineUnavailable

_NODE_ID = "ray.io/node-id"
AT = "node:"
"""Prefix of the resource that every node has, followed by its address."""


@frozen(kw_only=True)
class ResourceRequest:
    """The resources that each run needs, and the nodes that it may use."""

    bundle: Mapping[str, float]
    labels: Mapping[str, str]
    node: str | None = None

    @property
    def pinned(self) -> bool:
        """Whether only one node will do."""
        return self.node is not None or _NODE_ID in self.labels or any(name.startswith(AT) for name in self.bundle)

    def node_labels(self, lost: set[str]) -> dict[str, str]:
        """Return the labels of a suitable node, other than the lost ones."""
        if self.node is not None:
            return {**self.labels, _NODE_ID: self.node}
        if not lost or self.pinned:
            return dict(self.labels)
        return {**self.labels, _NODE_ID: f"!in({','.join(sorted(lost))})"}

    def __str__(self) -> str:
        needs = ", ".join(f"{amount:g} {name}" for name, amount in self.bundle.items())
        return needs + "".join(f", {name}={value}" for name, value in self.node_labels(set()).items())


class Lease(NamedTuple):
    """A reservation on a node: a placement group of Ray."""

    node: str
    group: Any


def engine_closed() -> EngineUnavailable:
    return EngineUnavailable("This engine was closed.", "Create another one.")


def no_matching_node(demand: ResourceRequest) -> EngineUnavailable:
    return EngineUnavailable(
        f"No node of the cluster can ever run a command that needs {demand}.",
        "Request less or other labels, or add such a node.",
    )


def node_gone(node: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"Node {node} is not, or no longer, in the Ray cluster.", "Create an engine for another node; see `ray status`."
    )
