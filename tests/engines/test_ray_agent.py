"""An agent's work on its node, and the payload that it receives. Runs without Ray, which agents do not import."""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, Cancel, ToolContext
from nacre.base.frozen import replace
from nacre.engines.containers.pool import OpenOnce
from nacre.engines.ray.cluster.connection import ClusterConnection, LeftCluster, NodeLost
from nacre.engines.ray.cluster.head import Head
from nacre.engines.ray.node import agent as agents
from nacre.engines.ray.node import workspace as workspaces
from nacre.engines.ray.node.agent import Agent
from nacre.engines.ray.node.payload import (
    MARK,
    FinalMessage,
    PlanContext,
    RunPayload,
    make_sendable,
    strip_local,
    translate_state,
)
from nacre.engines.ray.node.workspace import (
    ShippedWorkspace,
    digest_of,
    keep_archive,
    pack,
    real_context,
    real_directory,
    unpack,
)
from nacre.engines.ray.placement.throttle import Throttle
from nacre.errors import EngineUnavailable, InvalidRequest
from nacre.execution.outcome import outcome_from
from nacre.keeper.client.events import OutputChunk, RunEvent, ShellStarted
from nacre.planning.plan import plan_for
from nacre.profiles import DEFAULT
from nacre.result import Cancelled, Exited
from nacre.types import Plan, Request
from tests.support.confined import needs_mounts
from tests.support.lifeline import Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until

NOTHING = ToolContext()


def make_plan(command: str, **settings: object) -> Plan:
    return plan_for(Request(command), ToolContext(**settings), DEFAULT, {MARK: "ray"})  # type: ignore[arg-type]


def make_payload(plan: Plan, id: str = "1", *, ctx: ToolContext = NOTHING, **settings: Any) -> RunPayload:
    """Return a payload as the node receives it."""
    asked = PlanContext(ctx=make_sendable(ctx), inherits=True)
    made = RunPayload(**{"id": id, "plan": strip_local(plan), "context": asked, "reports_state": False, **settings})
    arrived: RunPayload = pickle.loads(pickle.dumps(made))
    return arrived


async def told_by(agent: Agent, run: RunPayload) -> tuple[list[RunEvent], FinalMessage]:
    happened: list[RunEvent] = []
    async for items in agent.run(run):
        for item in items:
            if isinstance(item, FinalMessage):
                return happened, item
            happened.append(item)
    pytest.fail("it has said no last word")


async def test_plan_survives_pickling_and_is_executed() -> None:
    plan = make_plan("echo out; exit 3")
    (began, printed), final = await told_by(Agent(), make_payload(plan))
    assert isinstance(began, ShellStarted)
    assert printed == OutputChunk("stdout", b"out\n")
    assert not isinstance(final.event, InvalidRequest)
    assert outcome_from(final.event, plan) == Exited(3)


async def test_run_cancelled_before_it_starts_does_not_start() -> None:
    agent, plan = Agent(), make_plan("sleep 300")
    await agent.cancel("1")
    happened, final = await told_by(agent, make_payload(plan))
    assert not isinstance(final.event, InvalidRequest)
    assert (happened, outcome_from(final.event, plan)) == ([], Cancelled())


async def test_wait_run_returns_when_the_start_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        async def start(self, *_: object) -> None:
            raise OSError("no")

    monkeypatch.setattr(agents, "LOCAL", Broken())
    agent = Agent()
    with pytest.raises(OSError, match="no"):
        await told_by(agent, make_payload(make_plan("true"), reports_state=True))
    await asyncio.wait_for(agent.wait_run("1"), HANG_TIMEOUT_S)


async def test_wait_run_returns_when_a_run_is_abandoned_before_its_start() -> None:
    agent = Agent()
    run = agent.run(make_payload(make_plan("sleep 300")))
    first = asyncio.ensure_future(anext(run))
    await turn_loop()
    first.cancel()
    await asyncio.wait([first])
    await asyncio.wait_for(agent.wait_run("1"), HANG_TIMEOUT_S)


async def test_wait_run_returns_after_all_processes_of_an_abandoned_run_end(life: Lifeline) -> None:
    agent = Agent()
    run = agent.run(make_payload(make_plan(f"{life.hold} (setsid sleep 300 &); echo begun; sleep 300")))
    await anext(run)
    await life.wait_until_held()
    ended = asyncio.create_task(agent.wait_run("1"))
    await run.aclose()
    await asyncio.wait_for(ended, HANG_TIMEOUT_S)
    assert life.over


async def test_pickled_plan_contains_no_secrets() -> None:
    plan = plan_for(
        Request("true"), ToolContext(secrets=("tr0ub4dor",)), DEFAULT, {MARK: "ray", "API_KEY": "sk-0123456789abcdef"}
    )
    assert b"sk-0123456789abcdef" not in pickle.dumps(strip_local(plan))
    assert b"tr0ub4dor" not in pickle.dumps(strip_local(plan))


async def test_command_inherits_the_nodes_environment_without_ray_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0123456789abcdef0123456789abcdef")
    monkeypatch.setenv("RAY_JOB_ID", "01")
    monkeypatch.setenv("OF_THE_NODE", "yes")
    (_, printed), _ = await told_by(Agent(), make_payload(make_plan("env")))
    assert isinstance(printed, OutputChunk)
    lines = printed.data.decode().splitlines()
    assert "OF_THE_NODE=yes" in lines
    assert not [line for line in lines if line.startswith("RAY_")]


async def test_variable_unset_by_a_session_is_not_inherited_from_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_NODE", "yes")
    (_, printed), _ = await told_by(Agent(), make_payload(replace(make_plan("env"), removed_env=("OF_THE_NODE",))))
    assert isinstance(printed, OutputChunk)
    assert b"OF_THE_NODE" not in printed.data


async def test_working_directory_is_checked_on_the_node(tmp_path: Path) -> None:
    """Links are the node's: one that leads out of the allowed paths there need not exist on the driver."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to("/")
    plan = replace(make_plan("true"), cwd=str(inside / "out"))
    _, final = await told_by(Agent(), make_payload(plan, ctx=ToolContext(allowed_paths=(inside,))))
    assert "outside the allowed paths" in str(final.event)
    plan = replace(plan, cwd=str(inside / "none"))
    _, final = await told_by(Agent(), make_payload(plan))
    assert "does not exist" in str(final.event)


async def test_refusal_by_a_node_names_the_local_path(
    tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]
) -> None:
    """The same error is raised in the foreground and in the background."""
    work = tmp_path / "work"
    work.mkdir()
    there = shipped(work)
    os.close(unpack(there))
    run = make_payload(replace(make_plan("true"), cwd=str(work / "none")), workspace=there)
    _, final = await told_by(Agent(), run)
    begun = await Agent().start_task(run, Request("true", mode="background"))
    for told in (final.event, begun):
        assert isinstance(told, InvalidRequest)
        assert (told.code, told.message) == ("cwd_missing", f"The working directory '{work}/none' does not exist.")


@pytest.mark.linux
async def test_protected_path_created_on_the_node_is_removed(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    ctx = ToolContext(working_dir=work, access="workspace")
    plan = plan_for(Request("mkdir .claude; echo made"), ctx, DEFAULT, {MARK: "ray"})
    _, final = await told_by(Agent(), make_payload(plan, ctx=ctx))
    assert any(".claude is protected" in note for note in final.notes)
    assert not (work / ".claude").exists()


@pytest.mark.linux
@needs_mounts
async def test_node_reports_rules_that_did_not_hold_to_the_end(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / ".mcp.json").write_text("before")
    os.mkfifo(work / "go")
    ctx = ToolContext(working_dir=work, access="workspace")
    plan = plan_for(Request("touch begun; read -r _ < go"), ctx, DEFAULT, {MARK: "ray"})
    telling = asyncio.create_task(told_by(Agent(), make_payload(plan, ctx=ctx)))
    await until((work / "begun").exists, "the command")
    (work / "new").write_text("after")
    (work / "new").rename(work / ".mcp.json")
    await asyncio.to_thread((work / "go").write_text, "\n")
    _, final = await telling
    assert "protected-existing" in final.unenforced_rules
    assert (work / ".mcp.json").read_text() == "before"


def test_shell_state_is_translated_to_local_paths_and_variables() -> None:
    work = ShippedWorkspace(here="/home/me/work", digest="0" * 64, copy="c")
    told = f"0 1\0{work.root}/sub\0OF_THE_NODE=yes\0SET=1\0\0".encode()
    assert translate_state(told, {"OF_THE_NODE": "yes"}, work) == b"0 1\0/home/me/work/sub\0SET=1\0\0"


def test_variables_of_the_node_unset_by_the_shell_are_reported() -> None:
    below = {"OF_THE_NODE": "yes", "HOME": "/root"}
    assert translate_state(b"/w\0OF_THE_NODE=yes\0SET=1\0\0", below, None) == b"/w\0SET=1\0HOME\0\0"
    assert translate_state(b"/w\0OF_THE_NODE=y", below, None) == b"/w\0OF_THE_NODE=y"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], ShippedWorkspace]:
    """Return a function that packs a directory for a node."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "node"))

    def ship(work: Path) -> ShippedWorkspace:
        archive = pack(str(work))
        made = ShippedWorkspace(here=str(work), digest=digest_of(archive), copy=os.urandom(4).hex())
        keep_archive(made.digest, archive)
        return made

    return ship


def test_workspace_copy_equals_the_original(tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]) -> None:
    work = tmp_path / "work"
    (work / "empty").mkdir(parents=True)
    (work / "run").write_text("#!/bin/sh\n")
    (work / "run").chmod(0o775)
    (work / "link").symlink_to("run")
    (work / "empty" / "whole").symlink_to(work / "run")
    os.mkfifo(work / "pipe")
    assert pack(str(work)) == pack(str(work))
    there = shipped(work)
    os.close(unpack(there))
    root = Path(there.root)
    assert sorted(path.name for path in root.iterdir()) == ["empty", "link", "run"]
    assert (root / "link").is_symlink()
    assert (root / "run").stat().st_mode & 0o777 == 0o775
    assert (root / "empty" / "whole").resolve() == root / "run"
    assert there.node_path(f"{work}/empty") == f"{root}/empty"
    assert there.local_path(f"{root}/empty") == f"{work}/empty"
    assert there.node_path("/usr") == "/usr"


def test_symlinks_into_the_workspace_lead_into_the_copy(
    tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]
) -> None:
    work, alias = tmp_path / "work", tmp_path / "alias"
    (work / "sub" / "deep").mkdir(parents=True)
    (work / "f").write_text("shipped")
    alias.symlink_to(work)
    (tmp_path / "to_f").symlink_to(work / "f")
    (work / "above").symlink_to("..")
    inside = {
        "plain": "f",
        "dotted": "./sub/../f",
        "out_and_in": "../work/f",
        "absolute": f"{work}/f",
        "absolute_dotted": f"{work}/sub/../f",
        "by_another_name": f"{alias}/f",
        "by_a_link_outside": "../to_f",
        "over_a_link_that_leads_out": "above/work/f",
        "of_a_link": f"{alias}/plain",
        "sub/deep/up": "../../f",
        "sub/deep/out_and_in": "../../../alias/f",
    }
    for name, target in inside.items():
        (work / name).symlink_to(target)
    (work / "whole").symlink_to("../alias")
    (work / "outside").symlink_to("/etc/hostname")
    (work / "dangling").symlink_to("none")
    (work / "loop").symlink_to("loop")
    there = shipped(work)
    os.close(unpack(there))
    root = Path(there.root)
    (work / "f").write_text("changed here")
    assert {name: (root / name).read_text() for name in inside} == dict.fromkeys(inside, "shipped")
    assert (root / "whole").resolve() == root
    kept = {"plain": "f", "sub/deep/up": "../../f", "outside": "/etc/hostname", "dangling": "none", "loop": "loop"}
    assert {name: os.readlink(root / name) for name in kept} == kept


def test_old_workspace_copy_stays_while_it_is_used(tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]) -> None:
    """The age of the original directory does not matter."""
    work, long_ago = tmp_path / "work", 1_000_000_000
    work.mkdir()
    (work / "closed").mkdir(mode=0o500)
    os.utime(work, (long_ago, long_ago))
    first, second, third = shipped(work), shipped(work), shipped(work)
    used, unused = unpack(first), unpack(second)
    os.close(unused)
    for name in os.listdir(os.path.dirname(first.root)):
        os.utime(os.path.join(os.path.dirname(first.root), name), (long_ago, long_ago))
    keep_archive(third.digest, pack(str(work)))
    os.close(unpack(third))
    assert [os.path.isdir(each.root) for each in (first, second, third)] == [True, False, True]
    os.close(used)


def test_workspace_that_cannot_be_shipped_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large").write_bytes(bytes(1000))
    monkeypatch.setattr(workspaces, "MAX_ARCHIVE_BYTES", 999)
    with pytest.raises(EngineUnavailable, match=r"is larger than .* Put it on storage that every node shares"):
        pack(str(tmp_path))
    with pytest.raises(EngineUnavailable, match=r"Cannot pack the workspace .*No such file"):
        pack(str(tmp_path / "none"))
    with pytest.raises(InvalidRequest, match="not a directory"):
        workspaces.check_workspace(tmp_path / "large")


@pytest.mark.linux
async def test_hidden_path_is_hidden_on_the_node_through_any_symlink(
    tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]
) -> None:
    work, link = tmp_path / "work", tmp_path / "link"
    work.mkdir()
    (work / "key").write_text("PRIVATE")
    (work / "alias").symlink_to("key")
    link.symlink_to(work)
    there = shipped(work)
    hold = unpack(there)
    for name in ("key", "alias", f"{link}/key", f"{work}/key", f"{link}/alias"):
        ctx = ToolContext(working_dir=link, access="restricted", hidden=(name,))
        cwd = real_directory(str(link), str(work))
        plan = plan_for(Request("cat key; echo"), ctx, DEFAULT, {MARK: "ray"})
        real = real_context(make_sendable(ctx), str(work))
        happened, _ = await told_by(Agent(), make_payload(replace(plan, cwd=cwd), ctx=real, workspace=there))
        assert b"PRIVATE" not in b"".join(each.data for each in happened if isinstance(each, OutputChunk)), name
    os.close(hold)


def test_hidden_path_outside_the_workspace_is_left_to_the_node(tmp_path: Path) -> None:
    ctx = ToolContext(workspace=tmp_path, hidden=("~/.ray", "/etc/shadow", "../beside"))
    real = real_context(ctx, str(tmp_path))
    assert real.hidden == ("~/.ray", "/etc/shadow", str(tmp_path.parent / "beside"))


def test_working_directory_outside_the_shipped_workspace_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="outside the shipped workspace"):
        real_directory("/home/me/workshop", "/home/me/work")


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
    """Also if all connections are released meanwhile."""
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

    async def come(n: int) -> None:
        await turns.wait_turn()
        came.append(n)

    waiting = [asyncio.create_task(come(n)) for n in range(100)]
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

    async def fill() -> None:
        for value in range(3):
            await shared.get(value, partial(make, value))

    shared = OpenOnce[int, int](close)
    asyncio.run(fill())
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
    monkeypatch.setattr("glob.glob", lambda _: [])  # whatever runs on this machine
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
