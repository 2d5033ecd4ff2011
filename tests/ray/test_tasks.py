"""Tasks live on their nodes, and are found from every node."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nacre import Bash, Request, Session, ToolContext
from nacre.engines.ray import RayEngine, RayTasks
from nacre.engines.ray.node.agent_pool import AgentConnection, AgentPool
from nacre.errors import EngineUnavailable, InvalidRequest, NoSuchTask
from nacre.result import Exited, Killed, Running
from nacre.tasks import Match
from nacre.types import Mode
from tests.ray.conftest import Machines, MakeEngine
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S

_LONG = 60.0
_STARTER = """
import asyncio, sys, nacre
from nacre.engines.ray import RayEngine


async def main():
    bash = nacre.Bash(engine=RayEngine(sys.argv[1], num_cpus=0.1, label_selector={"role": "right"}))
    for command in sys.argv[2:]:
        print((await bash.run(nacre.Request(command, mode="background"))).outcome.task)


asyncio.run(main())
"""


async def test_tasks_outlive_their_driver_and_are_found_by_another(
    machines: Machines, shared: RayEngine, gate: Gate, life: Lifeline
) -> None:
    ends = f"echo one; {gate.wait}; echo two; exit 5"
    stays = f"{life.hold} (setsid sleep 300 &); sleep 300"
    program = [sys.executable, "-c", _STARTER, machines.address, ends, stays]
    done = await asyncio.to_thread(
        subprocess.run, program, capture_output=True, text=True, timeout=HANG_TIMEOUT_S, check=True
    )
    first, second = done.stdout.split()[-2:]

    tasks = RayTasks(shared)
    found = await tasks.get(first)
    assert (found.node, found.task.alive) == (machines.nodes[2].node_id, True)
    assert {first, second} <= {placed.task.id for placed in await tasks.list(all=False)}
    await tasks.wait(first, until=Match("one"), timeout=HANG_TIMEOUT_S)
    gate.open()
    waited = await tasks.wait(first, timeout=HANG_TIMEOUT_S)
    assert waited.tasks[0].outcome == Exited(5)
    assert (await tasks.output(first)).data == b"one\ntwo\n"

    assert isinstance((await tasks.kill(second[5:10])).outcome, Killed)
    await life.wait_until_ended()


async def test_unknown_task_id_raises_no_such_task(shared: RayEngine) -> None:
    with pytest.raises(NoSuchTask, match="No node has task"):
        await RayTasks(shared).get("bash-00000000")


async def test_task_id_names_its_node(shared: RayEngine, gate: Gate) -> None:
    result = await Bash(engine=shared).run(Request(gate.wait, mode="background"))
    assert isinstance(result.outcome, Running)
    tasks, id = RayTasks(shared), result.outcome.task
    name = id.partition("@")[0]
    placed = await tasks.get(name)
    assert (id, placed.task.id) == (f"{name}@{placed.node[:8]}", id)
    assert result.task is not None
    assert result.task.id == id
    assert (await RayTasks(shared).get(id)).node == placed.node
    gate.open()
    assert (await tasks.wait(id, timeout=HANG_TIMEOUT_S)).met == (id,)


async def test_promoted_task_is_reported_by_its_id_with_the_node(shared: RayEngine, gate: Gate) -> None:
    result = await Bash(engine=shared).run(Request(gate.wait, yield_after=0.5))
    assert isinstance(result.outcome, Running)
    id = result.outcome.task
    assert re.fullmatch(r"bash-[0-9a-f]{8}@[0-9a-f]{8}", id)
    assert [f"It keeps running as task {id}; " in note for note in result.notes] == [True]
    gate.open()
    assert (await RayTasks(shared).wait(id, timeout=HANG_TIMEOUT_S)).tasks[0].outcome == Exited(0)


async def test_tasks_of_a_lost_node_are_forgotten(machines: Machines, make_engine: MakeEngine) -> None:
    passing = machines.add("passing")
    bash = Bash(engine=make_engine(num_cpus=0.1, node=passing.node_id))
    result = await bash.run(Request("sleep 300", mode="background"))
    assert isinstance(result.outcome, Running)
    tasks, id = RayTasks(make_engine(num_cpus=0.1)), result.outcome.task
    assert (await tasks.kill(id)).id == id
    assert (await tasks.get(id[: len("bash-0000")])).task.id == id
    assert set(tasks._known) == {id}  # another task may later begin with the same letters
    await asyncio.to_thread(machines.kill, passing)

    async def ask() -> None:
        """Query until the agent has exited, too, and Ray has noticed."""
        while True:
            with contextlib.suppress(EngineUnavailable):
                await tasks.get(id)

    with pytest.raises(NoSuchTask, match="No node has task"):
        await asyncio.wait_for(ask(), 3 * _LONG)
    assert tasks._known == {}


async def test_closed_engine_leaves_its_task_and_other_engines_running(make_engine: MakeEngine, gate: Gate) -> None:
    first = make_engine(num_cpus=0.1)
    result = await Bash(engine=first).run(Request(f"{gate.wait}; exit 4", mode="background"))
    assert isinstance(result.outcome, Running)
    await first.aclose()
    second = make_engine(num_cpus=0.1)
    assert (await asyncio.wait_for(Bash(engine=second).run("echo works"), _LONG)).out.text == "works\n"
    gate.open()
    waited = await RayTasks(second).wait(result.outcome.task, timeout=HANG_TIMEOUT_S)
    assert waited.tasks[0].outcome == Exited(4)


async def test_session_follows_directories_that_exist_only_on_its_node(
    machines: Machines, make_engine: MakeEngine, tmp_path: Path
) -> None:
    work, link = tmp_path / "project", tmp_path / "link"
    work.mkdir()
    link.symlink_to(work)
    bash = Bash(engine=make_engine(num_cpus=0.1, node=machines.nodes[2].node_id, workspace=link))
    session = Session(bash, ToolContext(working_dir=link))
    await session.run("mkdir made && cd made && touch here")
    assert (await session.run("ls")).out.text == "here\n"
    assert session.cwd == str(work / "made")
    result = await session.run("cd ../..")
    assert "The session stays in" in result.notes[-1]
    await session.run('rm here && rmdir "$PWD"')
    result = await session.run("pwd")
    assert result.outcome == Exited(0)
    assert result.notes == (
        f"The session's directory {work}/made does not exist on this node; this command ran in {work}.",
        f"The session's directory is now {work}.",
    )


async def test_workspace_is_copied_to_the_node_once_per_engine(machines: Machines, tmp_path: Path) -> None:
    work = tmp_path / "project"
    (work / "src").mkdir(parents=True)
    (work / "src" / "greeting").write_text("hello\n")
    (work / "src" / "run").write_text("#!/bin/sh\ncat greeting\n")
    (work / "src" / "run").chmod(0o755)
    (work / "link").symlink_to("src/greeting")
    engine = RayEngine(num_cpus=0.1, node=machines.nodes[2].node_id, workspace=work)
    ctx = ToolContext(working_dir=work)
    bash = Bash(engine=engine)
    assert (await bash.run(Request("./run", cwd="src"), ctx)).out.text == "hello\n"
    await bash.run("echo changed >src/greeting", ctx)
    result = await bash.run("cat link; pwd", ctx)
    assert result.cwd == str(work)
    there = result.out.text.split()
    assert there[0] == "changed"
    assert there[1] != str(work)
    assert (work / "src" / "greeting").read_text() == "hello\n"
    again = RayEngine(num_cpus=0.1, node=machines.nodes[2].node_id, workspace=work)
    assert (await Bash(engine=again).run("cat link", ctx)).out.text == "hello\n"
    confined = await bash.run(
        "echo y >new; cat new; echo z 2>/dev/null >/usr/new", ToolContext(working_dir=work, access="workspace")
    )
    assert (confined.out.text, confined.outcome) == ("y\n", Exited(1))
    await engine.aclose()
    await again.aclose()


async def test_command_starts_in_the_workspace_by_default(
    make_engine: MakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/scale.md describes, started in the parent directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "f").write_text("shipped\n")
    bash = Bash(engine=make_engine(num_cpus=0.1, workspace="project", retries=1))
    result = await bash.run("cat f; touch src/seen")
    assert (result.out.text, result.cwd) == ("shipped\n", str(tmp_path / "project"))
    assert (await bash.run(Request("pwd", cwd="src"))).cwd == str(tmp_path / "project" / "src")
    session = Session(bash)
    assert (await session.run("cat f; cd src")).out.text == "shipped\n"
    assert session.cwd == str(tmp_path / "project" / "src")
    assert bash.constraints(ToolContext(access="unrestricted")) == ""
    with pytest.raises(InvalidRequest, match="outside the shipped workspace"):
        await bash.run(Request("true", cwd="/"))


@pytest.mark.parametrize("mode", ["default", "background"])
async def test_directory_missing_on_the_node_is_an_invalid_request(
    shared: RayEngine, tmp_path: Path, mode: Mode
) -> None:
    with pytest.raises(InvalidRequest, match="none' does not exist"):
        await Bash(engine=shared).run(Request("true", cwd=str(tmp_path / "none"), mode=mode))


async def test_tasks_can_be_listed_by_node_id_or_prefix(
    machines: Machines, shared: RayEngine, make_engine: MakeEngine, gate: Gate, tmp_path: Path
) -> None:
    left, right = (machines.nodes[n].node_id for n in (1, 2))
    engine = make_engine(num_cpus=0.1, node=left)
    result = await Bash(engine=engine).run(Request(gate.wait, mode="background"))
    assert isinstance(result.outcome, Running)
    tasks = RayTasks(shared)
    for name in (left[:8], left):
        assert result.outcome.task in [placed.task.id for placed in await tasks.list(node=name)]
    assert result.outcome.task not in [placed.task.id for placed in await tasks.list(node=right[:8])]
    with pytest.raises(InvalidRequest, match=rf"No node of the Ray cluster is called 'moon'.*{left[:8]}"):
        await tasks.list(node="moon")
    with pytest.raises(InvalidRequest, match="Several nodes are called"):
        await tasks.list(node=machines.nodes[0].node_ip_address)
    gate.open()
    await tasks.wait(result.outcome.task, timeout=HANG_TIMEOUT_S)


async def test_task_in_a_shared_directory_is_listed_once(shared: RayEngine, gate: Gate, tmp_path: Path) -> None:
    ctx = ToolContext(output_dir=tmp_path / "shared")
    result = await Bash(engine=shared).run(Request(gate.wait, mode="background"), ctx)
    assert isinstance(result.outcome, Running)
    tasks = RayTasks(shared, tmp_path / "shared")
    (placed,) = await tasks.list()  # all nodes are one machine here, so each of them knows the task
    name = result.outcome.task.partition("@")[0]
    assert [placed.task.id, (await tasks.get(result.outcome.task)).task.id] == [
        f"{name}@{placed.node[:8]}",
        result.outcome.task,
    ]
    gate.open()
    assert (await tasks.wait(result.outcome.task, timeout=HANG_TIMEOUT_S)).tasks[0].outcome == Exited(0)


async def test_unreachable_node_does_not_hide_tasks_of_other_nodes(
    machines: Machines, shared: RayEngine, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = await Bash(engine=shared).run(Request(gate.wait, mode="background"))
    assert isinstance(result.outcome, Running)
    tasks = RayTasks(shared)
    node = (await tasks.get(result.outcome.task)).node
    agents, on = (await shared.slots()).agents, AgentPool.agent_on

    async def without_nacre(self: AgentPool, asked: str) -> AgentConnection:
        if asked != node:
            raise EngineUnavailable(f"nacre is not installed on node {asked}.")
        return await on(self, asked)

    monkeypatch.setattr(type(agents), "agent_on", without_nacre)
    assert result.outcome.task in [placed.task.id for placed in await tasks.list()]
    other = next(each.node_id for each in machines.nodes if each.node_id != node)
    with pytest.raises(EngineUnavailable, match="nacre is not installed"):
        await tasks.list(node=other)
    monkeypatch.undo()
    gate.open()
    await tasks.wait(result.outcome.task, timeout=HANG_TIMEOUT_S)


def test_importing_nacre_does_not_load_ray() -> None:
    code = "import sys, json, nacre, nacre.engines; nacre.Bash(); print(json.dumps('ray' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is False
