"""A cluster of three nodes on this machine, with token authentication, for all tests that need Ray."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash
from nacre.engines import Engine
from tests.engines.conftest import Place
from tests.support.census import MARK

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
_STORE = 80 * 1024 * 1024
_HANGS = 400
"""Timeout in seconds for one test. The first one starts the cluster: 90 s if ten other programs want the cores."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.ray)
            item.add_marker(pytest.mark.timeout(_HANGS))
            item.add_marker(pytest.mark.filterwarnings("default"))  # Ray's own warnings, which we cannot fix


class Machines:
    """The cluster. A test may kill the nodes that it adds."""

    def __init__(self) -> None:
        os.environ.update(_QUIET, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        pytest.importorskip("ray", reason="`make test-ray` installs it")
        from ray.cluster_utils import Cluster

        mark = os.environ.pop(MARK)  # the cluster outlives each test, and commands must not inherit the mark
        try:
            self._cluster = Cluster(
                initialize_head=True,
                head_node_args={"include_dashboard": False, **_node_options("head")},
            )
            self.nodes = [self._cluster.head_node, self.add("left"), self.add("right")]
            import ray

            ray.init(address=self._cluster.address, log_to_driver=False, logging_level="ERROR")
        finally:
            os.environ[MARK] = mark

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, role: str) -> Any:
        mark = os.environ.pop(MARK, None)
        try:
            return self._cluster.add_node(**_node_options(role))
        finally:
            if mark is not None:
                os.environ[MARK] = mark

    def kill(self, node: Any) -> None:
        """Kill the node as a power cut would: no process of Ray is left on it."""
        self._cluster.remove_node(node, allow_graceful=False)

    def stop(self) -> None:
        import ray

        ray.shutdown()
        self._cluster.shutdown()


def _node_options(role: str) -> dict[str, Any]:
    state = {"XDG_STATE_HOME": f"{os.environ['XDG_STATE_HOME']}/{role}"}  # as on a separate machine
    return {
        "num_cpus": 2,
        "object_store_memory": _STORE,
        "labels": {"role": role},
        "resources": {role: 100},
        "env_vars": state,
    }


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    machines = Machines()
    yield machines
    machines.stop()


@pytest.fixture(scope="session")
def shared(machines: Machines) -> Any:
    """Return an engine whose agents stay warm from test to test."""
    from nacre.engines.ray import RayEngine

    return RayEngine(num_cpus=0.1)


MakeEngine = Callable[..., Any]
"""Function that makes an engine, which is closed at the end."""


@pytest.fixture
async def make_engine(machines: Machines) -> AsyncIterator[MakeEngine]:
    from nacre.engines.ray import RayEngine

    engines: list[RayEngine] = []

    def make(**options: Any) -> RayEngine:
        engines.append(RayEngine(**options))
        return engines[-1]

    yield make
    for engine in engines:
        await engine.aclose()


@pytest.fixture
def place(shared: Engine, tmp_path: Path) -> Place:
    """Return a workspace for the tests of all engines: the nodes share this machine's file system."""
    directory = tmp_path / "work"
    directory.mkdir()
    return Place(Bash(engine=shared), directory)
