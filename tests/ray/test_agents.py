"""Agents that are killed or hang: their node stays usable, and no caller waits forever."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from nacre import Bash, Cancel, Session, ToolContext
from nacre.engines.ray import RayEngine
from nacre.engines.ray.cluster.connection import ClusterConnection
from nacre.engines.ray.node import agent_pool
from nacre.engines.ray.placement.leases import Leases
from nacre.engines.ray.placement.resources import Lease
from nacre.execution.finish import collect_result
from nacre.result import Chunk, Exited, Lost
from tests.ray.conftest import Machines, MakeEngine
from tests.support.census import is_alive, parent_and_session
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import until

_LONG = 60.0


async def agent_of(engine: RayEngine) -> int:
    """Return the PID of an engine's agent, which is the parent of the keeper, which is the parent of the shell."""
    result = await Bash(engine=engine).run("echo $PPID")
    return parent_and_session(int(result.out.text))[0]


@pytest.fixture
def short_agent_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the agent's timeouts to seconds."""
    monkeypatch.setattr(agent_pool, "_PING_AFTER_S", 1.0)
    monkeypatch.setattr(agent_pool, "_PING_TIMEOUT_S", 2.0)


async def test_killed_agent_loses_its_runs_but_its_node_stays_usable(
    machines: Machines, make_engine: MakeEngine, life: Lifeline
) -> None:
    engine = make_engine(num_cpus=0.1, node=machines.nodes[1].node_id)
    bash = Bash(engine=engine)
    agent = await agent_of(engine)
    stream = bash.stream(f"{life.hold} echo part; (setsid sleep 300 &); sleep 300")
    while not isinstance(await anext(stream), Chunk):
        continue  # runs in flight are lost with the agent
    os.kill(agent, signal.SIGKILL)
    result = await asyncio.wait_for(collect_result(stream), _LONG)
    assert isinstance(result.outcome, Lost)
    assert result.out.text == "part\n"
    await life.wait_until_ended()
    assert (await bash.run("echo again")).out.text == "again\n"


async def test_runs_lost_with_an_agent_are_released_by_a_single_thread(
    machines: Machines, make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(num_cpus=0.05, node=machines.nodes[1].node_id)
    agent, bash = await agent_of(engine), Bash(engine=engine)
    streams = [bash.stream("echo part; sleep 300") for _ in range(20)]
    for stream in streams:
        while not isinstance(await anext(stream), Chunk):
            continue
    ended, given_back, at_once = list[object](), list[Lease](), set[int]()
    kill, remove = ClusterConnection.kill, Leases._remove

    def record_kill(self: ClusterConnection, actor: object) -> None:
        ended.append(actor)
        kill(self, actor)

    def record_removal(self: Leases, leases: list[Lease]) -> None:
        given_back.extend(leases)
        at_once.add(sum(thread.name == "nacre-errands" for thread in threading.enumerate()))
        remove(self, leases)

    monkeypatch.setattr(ClusterConnection, "kill", record_kill)
    monkeypatch.setattr(Leases, "_remove", record_removal)
    os.kill(agent, signal.SIGKILL)
    results = await asyncio.wait_for(asyncio.gather(*map(collect_result, streams)), _LONG)
    assert {type(result.outcome) for result in results} == {Lost}
    await until(lambda: len(given_back) >= 20, "the leases' return", within=_LONG)
    assert (len(ended), at_once) == (1, {1})


async def test_run_that_has_not_started_gets_another_agent(
    machines: Machines, make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_pool, "_RECENT_REPLY_S", 0.0)
    engine = make_engine(num_cpus=0.1, node=machines.nodes[1].node_id)
    agent = await agent_of(engine)
    os.kill(agent, signal.SIGKILL)
    await until(lambda: not is_alive(agent), "the agent's end")
    result = await Bash(engine=engine).run("echo there")
    assert (result.outcome, result.out.text, result.notes) == (Exited(0), "there\n", ())


@pytest.mark.usefixtures("short_agent_timeouts")
@pytest.mark.parametrize("cancelled", [False, True])
async def test_run_on_a_hanging_agent_is_reported_as_lost(
    make_engine: MakeEngine, life: Lifeline, *, cancelled: bool
) -> None:
    engine = make_engine(num_cpus=0.1, label_selector={"role": "left"})
    agent, cancel = await agent_of(engine), Cancel()
    command = f"echo part; {life.hold} (setsid sleep 300 &); sleep 300"
    run = asyncio.create_task(Bash(engine=engine).run(command, ToolContext(cancel=cancel)))
    await life.wait_until_held()
    os.kill(agent, signal.SIGSTOP)
    if cancelled:
        cancel.cancel()
    result = await asyncio.wait_for(run, _LONG)
    assert isinstance(result.outcome, Lost)
    await life.wait_until_ended(within=_LONG)
    await until(lambda: not is_alive(agent), "the agent's end")


@pytest.mark.usefixtures("short_agent_timeouts")
async def test_new_run_avoids_a_hanging_agent(
    make_engine: MakeEngine, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_pool, "_RECENT_REPLY_S", 0.0)
    engine = make_engine(num_cpus=0.1, node=machines.nodes[1].node_id)
    os.kill(await agent_of(engine), signal.SIGSTOP)
    assert (await Bash(engine=engine).run("echo through")).out.text == "through\n"


@pytest.mark.usefixtures("short_agent_timeouts")
async def test_node_of_a_hung_agent_is_reused_if_no_other_fits(make_engine: MakeEngine, life: Lifeline) -> None:
    """It is avoided only while there is another node."""
    engine = make_engine(num_cpus=0.1, label_selector={"role": "left"}, patience=_LONG)
    agent, bash = await agent_of(engine), Bash(engine=engine)
    run = asyncio.create_task(bash.run(f"{life.hold} sleep 300"))
    await life.wait_until_held()
    os.kill(agent, signal.SIGSTOP)
    assert isinstance((await asyncio.wait_for(run, _LONG)).outcome, Lost)
    assert (await asyncio.wait_for(bash.run("echo next"), _LONG / 2)).out.text == "next\n"
    leases = (await engine.slots()).leases
    assert leases._quarantined_nodes() == set()  # the agent has answered


async def test_quarantined_node_is_used_again_after_the_quarantine(
    machines: Machines, make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch, gate: Gate, life: Lifeline
) -> None:
    """The other node is fully used: that is no reason to wait longer than the quarantine lasts."""
    from nacre.engines.ray.placement import leases as leasing

    monkeypatch.setattr(leasing, "_QUARANTINE_S", 3.0)
    both = {"label_selector": {"role": "in(left,right)"}}
    holds = asyncio.create_task(
        Bash(engine=make_engine(num_cpus=2, label_selector={"role": "right"})).run(f"{life.hold} {gate.wait}")
    )
    await life.wait_until_held(within=_LONG)
    leases = (await make_engine(num_cpus=2, **both).slots()).leases
    leases.quarantine(machines.nodes[1].node_id)
    lease = await asyncio.wait_for(leases.acquire(Cancel()), _LONG)
    assert lease is not None
    assert lease.node == machines.nodes[1].node_id
    leases.release(lease)
    gate.open()
    assert (await holds).outcome == Exited(0)


async def test_cancelling_a_run_on_a_hanging_agent_leaves_no_process(
    make_engine: MakeEngine, life: Lifeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nacre.engines.ray.placement import slots

    monkeypatch.setattr(slots, "_AGENT_CLEANUP_S", -4.0)  # plus a grace of five seconds: one second in all
    engine = make_engine(num_cpus=0.1, label_selector={"role": "left"})
    agent = await agent_of(engine)
    run = asyncio.create_task(Bash(engine=engine).run(f"{life.hold} sleep 300"))
    await life.wait_until_held()
    os.kill(agent, signal.SIGSTOP)
    run.cancel()
    await asyncio.wait([run])
    await life.wait_until_ended(within=_LONG)


async def test_session_on_ray_keeps_unset_and_exported_variables(shared: RayEngine) -> None:
    session = Session(Bash(engine=shared))
    await session.run("unset NACRE_ENGINE HOME; export KEPT=yes")
    result = await session.run('echo "${HOME-none} ${NACRE_ENGINE-none} $KEPT"; echo "$PATH"')
    assert result.out.text.splitlines()[0] == "none none yes"
    assert result.out.text.splitlines()[1] == (await Bash(engine=shared).run("echo $PATH")).out.text.strip()
    await session.run("export HOME=/nowhere")
    assert (await session.run("echo $HOME")).out.text == "/nowhere\n"
