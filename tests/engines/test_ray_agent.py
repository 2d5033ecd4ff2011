"""An agent's work on its node, and the payload that it receives. Runs without Ray, which agents do not import."""

from __future__ import annotations

import asyncio
import os
import pickle
from pathlib import Path

import pytest

from nacre import ToolContext
from nacre.base.frozen import replace
from nacre.engines.ray.node import agent as agents
from nacre.engines.ray.node.agent import Agent
from nacre.engines.ray.node.payload import MARK, strip_local, translate_state
from nacre.engines.ray.node.workspace import ShippedWorkspace
from nacre.errors import InvalidRequest
from nacre.execution.outcome import outcome_from
from nacre.keeper.client.events import OutputChunk, ShellStarted
from nacre.planning.plan import plan_for
from nacre.profiles import DEFAULT
from nacre.result import Cancelled, Exited
from nacre.types import Request
from tests.engines.ray_payloads import collect_events, make_payload, make_plan
from tests.support.confined import needs_mounts
from tests.support.lifeline import Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until


async def test_plan_survives_pickling_and_is_executed() -> None:
    plan = make_plan("echo out; exit 3")
    (began, printed), final = await collect_events(Agent(), make_payload(plan))
    assert isinstance(began, ShellStarted)
    assert printed == OutputChunk("stdout", b"out\n")
    assert not isinstance(final.event, InvalidRequest)
    assert outcome_from(final.event, plan) == Exited(3)


async def test_run_cancelled_before_it_starts_does_not_start() -> None:
    agent, plan = Agent(), make_plan("sleep 300")
    await agent.cancel("1")
    happened, final = await collect_events(agent, make_payload(plan))
    assert not isinstance(final.event, InvalidRequest)
    assert (happened, outcome_from(final.event, plan)) == ([], Cancelled())


async def test_wait_run_returns_when_the_start_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        async def start(self, *_: object) -> None:
            raise OSError("no")

    monkeypatch.setattr(agents, "LOCAL", Broken())
    agent = Agent()
    with pytest.raises(OSError, match="no"):
        await collect_events(agent, make_payload(make_plan("true"), reports_state=True))
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
    (_, printed), _ = await collect_events(Agent(), make_payload(make_plan("env")))
    assert isinstance(printed, OutputChunk)
    lines = printed.data.decode().splitlines()
    assert "OF_THE_NODE=yes" in lines
    assert not [line for line in lines if line.startswith("RAY_")]


async def test_variable_unset_by_a_session_is_not_inherited_from_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_NODE", "yes")
    (_, printed), _ = await collect_events(
        Agent(), make_payload(replace(make_plan("env"), removed_env=("OF_THE_NODE",)))
    )
    assert isinstance(printed, OutputChunk)
    assert b"OF_THE_NODE" not in printed.data


async def test_working_directory_is_checked_on_the_node(tmp_path: Path) -> None:
    """Links are the node's: one that leads out of the allowed paths there need not exist on the driver."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to("/")
    plan = replace(make_plan("true"), cwd=str(inside / "out"))
    _, final = await collect_events(Agent(), make_payload(plan, ctx=ToolContext(allowed_paths=(inside,))))
    assert "outside the allowed paths" in str(final.event)
    plan = replace(plan, cwd=str(inside / "none"))
    _, final = await collect_events(Agent(), make_payload(plan))
    assert "does not exist" in str(final.event)


@pytest.mark.linux
async def test_protected_path_created_on_the_node_is_removed(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    ctx = ToolContext(working_dir=work, access="workspace")
    plan = plan_for(Request("mkdir .claude; echo made"), ctx, DEFAULT, {MARK: "ray"})
    _, final = await collect_events(Agent(), make_payload(plan, ctx=ctx))
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
    telling = asyncio.create_task(collect_events(Agent(), make_payload(plan, ctx=ctx)))
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
