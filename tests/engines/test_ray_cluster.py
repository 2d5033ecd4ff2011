"""The connection to a cluster: its agents, its actors and its address. Runs without Ray."""

from __future__ import annotations

import asyncio
import socket
import sys
from functools import partial
from pathlib import Path

import pytest

from nacre import Bash, Cancel
from nacre.engines.containers.pool import OpenOnce
from nacre.engines.ray.cluster.connection import ClusterConnection, LeftCluster, NodeLost
from nacre.engines.ray.cluster.head import Head
from nacre.engines.ray.placement.throttle import Throttle
from nacre.errors import EngineUnavailable, InvalidRequest
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop


class NoRay:
    """A stand-in for Ray on the driver's side, for tests that start nothing in the cluster."""

    class _private:
        class worker:
            class global_worker:
                worker_id = b"1"

    @staticmethod
    def is_initialized() -> bool:
        return True

    class exceptions:
        class RayError(Exception): ...

        class RayTaskError(RayError): ...

        class RuntimeEnvSetupError(RayError): ...

        class ActorDiedError(RayError): ...


async def test_agent_that_fails_to_start_fails_all_waiters() -> None:
    """All waiters fail, also if all connections are released meanwhile."""
    from nacre.engines.ray.node.agent_pool import AgentConnection, AgentPool

    opening, fails = asyncio.Event(), asyncio.Event()

    class Unlucky(AgentPool):
        def _start(self, node: str) -> AgentConnection:
            return AgentConnection(node, None, connection)

        async def _check_hello(self, agent: AgentConnection) -> None:
            opening.set()
            await fails.wait()
            raise NoRay.exceptions.ActorDiedError(agent.node)

    connection = ClusterConnection(NoRay, Head("", lambda address: None))
    agents = Unlucky(connection, {}, None, None)
    waiting = [asyncio.create_task(agents.agent_on("node")) for _ in range(3)]
    await opening.wait()
    agents.close()
    fails.set()
    told = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), HANG_TIMEOUT_S)
    assert [type(each) for each in told] == [NodeLost] * 3


async def test_program_that_left_the_cluster_calls_no_actor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would connect to any cluster that it finds, or start one."""
    from nacre.engines.ray.node.agent_pool import AgentConnection
    from nacre.engines.ray.placement.leases import Leases
    from nacre.engines.ray.placement.resources import ResourceRequest

    class Actor:
        def __getattr__(self, name: str) -> object:
            pytest.fail(f"{name} was called")

    connection = ClusterConnection(NoRay, Head("", lambda address: None))
    agent, leases = (
        AgentConnection("node", Actor(), connection),
        Leases(ResourceRequest(bundle={}, labels={}), 1.0, connection),
    )
    monkeypatch.setattr(NoRay._private.worker.global_worker, "worker_id", b"2")  # the program has joined again
    with pytest.raises(LeftCluster):
        agent.call("hello")
    with pytest.raises(LeftCluster):
        await leases.acquire(Cancel())
    connection.kill(agent.actor)
    connection.cancel(agent.actor)
    leases.close()


async def test_throttle_serves_waiters_in_order_and_skips_cancelled_ones() -> None:
    turns, came, rounds = Throttle(at_a_time=10), list[int](), list[int]()

    async def take_turn(n: int) -> None:
        await turns.wait_turn()
        came.append(n)

    waiting = [asyncio.create_task(take_turn(n)) for n in range(100)]
    waiting[50].cancel()
    while not all(each.done() for each in waiting):
        before = len(came)
        await turn_loop()
        rounds.append(len(came) - before)
    assert came == [n for n in range(100) if n != 50]
    assert max(rounds) <= 20


def test_failing_close_does_not_keep_other_values_open() -> None:
    gone = []

    def close(value: int) -> None:
        gone.append(value)
        if value == 1:
            raise OSError("no")

    async def make(value: int) -> int:
        await turn_loop()
        return value

    async def open_three() -> None:
        for value in range(3):
            await shared.get(value, partial(make, value))

    shared = OpenOnce[int, int](close)
    asyncio.run(open_three())
    with pytest.raises(OSError, match="no"):
        shared.clear()
    assert gone == [0, 1, 2]


@pytest.mark.parametrize(
    ("variables", "status", "said"),
    [
        ({}, "off", "ray 2.60.0, no cluster given"),
        ({"RAY_ADDRESS": "ray://head:1"}, "off", "ray 2.60.0, ray://head:1 cannot stream"),
        ({"RAY_ADDRESS": "127.0.0.1:1"}, "off", "ray 2.60.0, no answer at 127.0.0.1:1: Connection refused"),
        ({"RAY_ADDRESS": "HERE"}, "ok", "ray 2.60.0, HERE, without authentication"),
        ({"RAY_ADDRESS": "HERE", "RAY_AUTH_MODE": "token"}, "ok", "ray 2.60.0, HERE, with token authentication"),
        (
            {"RAY_ADDRESS": "HERE", "RAY_AUTH_TOKEN": "t"},
            "ok",
            "ray 2.60.0, HERE, without authentication: a token is set, but RAY_AUTH_MODE is not",
        ),
    ],
)
def test_doctor_reports_which_ray_cluster_is_configured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str], status: str, said: str
) -> None:
    from nacre.cli.info import engines

    monkeypatch.setattr(engines, "version", lambda _: "2.60.0")
    monkeypatch.setattr("glob.glob", lambda _: [])  # ignore sessions of Ray on this machine
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = f"127.0.0.1:{server.getsockname()[1]}"
        for name, value in variables.items():
            monkeypatch.setenv(name, value.replace("HERE", here))
        check = engines._ray()
    assert (check.status, check.detail) == (status, said.replace("HERE", here))


@pytest.mark.parametrize(
    ("address", "said"),
    [("local", "no cluster is running there; Ray would start one"), ("ray://head:1", "Ray's client cannot stream")],
)
def test_unusable_cluster_address_is_refused_without_starting_ray(
    monkeypatch: pytest.MonkeyPatch, address: str, said: str
) -> None:
    from nacre.engines.ray.cluster import connect

    class Unconnected(NoRay):
        @staticmethod
        def is_initialized() -> bool:
            return False

        @staticmethod
        def init(**_: object) -> None:
            pytest.fail("it was asked to connect")

    monkeypatch.setattr(connect, "load", lambda: Unconnected)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(EngineUnavailable, match=f"Cannot reach a Ray cluster at {address}: {said}"):
        connect.connect(None, HANG_TIMEOUT_S)


def test_ray_client_address_is_refused() -> None:
    from nacre.engines.ray import RayEngine

    with pytest.raises(InvalidRequest, match="Run this program on a machine of the cluster"):
        RayEngine("ray://head:10001")


def test_missing_ray_error_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from nacre.engines.ray import RayEngine

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineUnavailable, match=r"pip install 'nacre\[ray\]'"):
        Bash(engine=RayEngine())
