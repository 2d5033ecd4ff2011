"""Placement: Ray chooses the node, by resources, by label, or by name."""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys

import pytest

from nacre import Bash, Cancel, Request, ToolContext
from nacre.engines.ray import RayEngine
from nacre.engines.ray.placement import throttle
from nacre.errors import EngineUnavailable, InvalidRequest
from nacre.result import Cancelled, Exited
from tests.ray.conftest import Machines, MakeEngine
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, until

_LONG = 60.0
pytestmark = pytest.mark.usefixtures("machines")


async def node_of(engine: RayEngine) -> str:
    """Return the node where a run of this engine would be placed."""
    leases = (await engine.slots()).leases
    lease = await leases.acquire(Cancel())
    assert lease is not None
    leases.release(lease)
    return lease.node


async def test_label_selector_chooses_the_node(machines: Machines, make_engine: MakeEngine) -> None:
    right = machines.nodes[2].node_id
    assert await node_of(make_engine(num_cpus=0.1, label_selector={"role": "right"})) == right


async def test_custom_resource_chooses_the_node(machines: Machines, make_engine: MakeEngine) -> None:
    assert await node_of(make_engine(num_cpus=0.1, resources={"left": 1})) == machines.nodes[1].node_id


async def test_node_can_be_chosen_by_id(machines: Machines, make_engine: MakeEngine) -> None:
    left = machines.nodes[1].node_id
    assert await node_of(make_engine(num_cpus=0.1, node=left)) == left


async def test_node_can_be_chosen_by_ip_address(machines: Machines, make_engine: MakeEngine) -> None:
    address = machines.nodes[0].node_ip_address
    assert await node_of(make_engine(num_cpus=0.1, node=address)) in [node.node_id for node in machines.nodes]


async def test_runs_beyond_the_node_capacity_wait(make_engine: MakeEngine, gate: Gate, life: Lifeline) -> None:
    bash = Bash(engine=make_engine(num_cpus=2, label_selector={"role": "left"}))
    first = asyncio.create_task(bash.run(f"{life.hold} echo in; {gate.wait}"))
    await life.wait_until_held()
    second = asyncio.create_task(bash.run("echo second"))
    third = asyncio.create_task(bash.run("echo third"))
    await asyncio.wait([second, third], timeout=2)
    assert not second.done()
    assert not third.done()
    gate.open()
    done = await asyncio.gather(first, second, third)
    assert [result.out.text for result in done] == ["in\n", "second\n", "third\n"]


async def test_unused_reservation_is_released(make_engine: MakeEngine) -> None:
    import ray

    await node_of(make_engine(num_cpus=2, label_selector={"role": "right"}))
    assert ray.available_resources().get("CPU", 0) < ray.cluster_resources()["CPU"]
    await until(lambda: ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"], "free processors")


async def test_request_that_fits_no_node_is_an_error(make_engine: MakeEngine) -> None:
    bash = Bash(engine=make_engine(num_cpus=1000, patience=0.5))
    with pytest.raises(EngineUnavailable, match=r"No node .* can ever run .* 1000 CPU.* Request less"):
        await bash.run("true")


async def test_node_outside_the_cluster_is_an_error(make_engine: MakeEngine) -> None:
    bash = Bash(engine=make_engine(num_cpus=0.1, node="0" * 56))
    with pytest.raises(EngineUnavailable, match=r"is not, or no longer, in the Ray cluster"):
        await bash.run("true")


async def test_failed_placement_leaves_no_reservation(make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = importlib.import_module("ray.util.placement_group")  # `ray.util` has a function of that name

    def fail_to_read(group: object) -> object:
        raise OSError("no table")

    before = set(groups.placement_group_table())
    monkeypatch.setattr(groups, "placement_group_table", fail_to_read)
    with pytest.raises(EngineUnavailable, match="Ray cannot place the run: no table"):
        await Bash(engine=make_engine(num_cpus=0.1)).run("true")
    monkeypatch.undo()
    new = {id: row["state"] for id, row in groups.placement_group_table().items() if id not in before}
    assert set(new.values()) <= {"REMOVED"}


async def test_run_waiting_for_placement_can_be_cancelled(make_engine: MakeEngine) -> None:
    cancel = Cancel()
    bash = Bash(engine=make_engine(num_cpus=1000))
    waits = asyncio.create_task(bash.run("true", ToolContext(cancel=cancel)))
    await asyncio.wait([waits], timeout=0.5)
    cancel.cancel()
    assert (await waits).outcome == Cancelled()


async def test_engine_with_zero_cpus_is_invalid() -> None:
    with pytest.raises(InvalidRequest, match=r"num_cpus=0\.01"):
        RayEngine(num_cpus=0)


@pytest.mark.parametrize("most", [None, 20_000], ids=["before the engine", "in the engine"])
async def test_ten_thousand_runs_can_wait_for_placement(
    make_engine: MakeEngine, gate: Gate, life: Lifeline, most: int | None
) -> None:
    """Waiting in the queue of a Bash, or for a slot in the cluster."""
    from ray.util.placement_group import placement_group_table

    engine = make_engine(num_cpus=2, label_selector={"role": "left"})
    bash, cancel = Bash(engine=engine, max_running=most), Cancel()
    holds = asyncio.create_task(bash.run(f"{life.hold} {gate.wait}"))
    await life.wait_until_held(within=_LONG)
    leases = (await engine.slots()).leases
    rest = [asyncio.create_task(bash.run("true", ToolContext(cancel=cancel))) for _ in range(10_000)]
    if most is None:
        await asyncio.wait(rest, timeout=3)
    else:
        await until(lambda: len(leases._queue) == 10_000, "all of them in the queue", within=2 * _LONG)
    assert not any(run.done() for run in rest)
    asked = [row for row in placement_group_table().values() if row["state"] == "PENDING"]
    assert len(asked) <= 8
    cancel.cancel()
    assert {result.outcome for result in await asyncio.gather(*rest)} == {Cancelled()}
    gate.open()
    assert (await holds).outcome == Exited(0)


async def test_many_runs_starting_at_once_do_not_block_the_event_loop(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: how many runs are planned in one iteration of the loop."""
    engine, cancel = make_engine(num_cpus=1000), Cancel()
    bash = Bash(engine=engine, max_running=20_000)
    leases, loop = (await engine.slots()).leases, asyncio.get_running_loop()
    planned, most, plan = 0, 0, engine.directory

    def directory(request: Request, ctx: ToolContext) -> str:
        nonlocal planned
        planned += 1
        return str(plan(request, ctx))

    def count_iteration() -> None:
        nonlocal planned, most
        most, planned = max(most, planned), 0
        if not cancel.cancelled:
            loop.call_soon(count_iteration)

    monkeypatch.setattr(engine, "directory", directory)
    count_iteration()
    runs = [asyncio.create_task(bash.run("true", ToolContext(cancel=cancel))) for _ in range(2000)]
    await until(lambda: len(leases._queue) == 2000, "all of them in the queue", within=2 * _LONG)
    cancel.cancel()
    await asyncio.gather(*runs)
    assert 0 < most <= 2 * throttle._MAX_CONCURRENT_PLANS


async def test_cli_runs_a_command_on_the_ray_engine(machines: Machines) -> None:
    program = [sys.executable, "-m", "nacre", "run", "--engine", "ray", "echo $NACRE_ENGINE; exit 3"]
    env = {**os.environ, "RAY_ADDRESS": machines.address}
    done = await asyncio.to_thread(
        subprocess.run, program, env=env, capture_output=True, text=True, timeout=HANG_TIMEOUT_S
    )
    assert (done.stdout, done.returncode) == ("ray\n", 3)
