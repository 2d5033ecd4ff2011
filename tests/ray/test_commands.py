"""Tasks of a cluster, used on the command line and by a model: every command accepts the id that the start printed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from nacre import Bash, Request, ToolContext
from nacre.adapters.shared.toolbox import Toolbox
from nacre.engines.ray import RayEngine
from nacre.result import Running
from tests.ray.conftest import Machines
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S

_LONG = 60.0
CallNacre = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def call_nacre(machines: Machines) -> CallNacre:
    """Return `nacre` on a machine of the cluster."""

    def nacre(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "nacre", *words]
        env = {**os.environ, "RAY_ADDRESS": machines.address}
        return subprocess.run(program, env=env, input=stdin, capture_output=True, text=True, timeout=_LONG, check=False)

    return nacre


def test_cluster_task_is_found_by_its_printed_id(call_nacre: CallNacre, life: Lifeline) -> None:
    command = f"{life.hold} echo begun; (setsid sleep 300 &); sleep 300"
    begun = call_nacre("run", "--engine", "ray", "--background", command)
    assert (begun.returncode, bool(re.fullmatch(r"bash-[0-9a-f]{8}@[0-9a-f]{8}\n", begun.stdout))) == (0, True), begun
    id = begun.stdout.strip()

    listed = json.loads(call_nacre("tasks", "--engine", "ray", "--json").stdout)
    assert (id, "running") in [(task["id"], task["state"]) for task in listed["tasks"]]
    assert id in call_nacre("tasks", "--engine", "ray").stdout
    waited = call_nacre("wait", "--timeout", "1", id)
    assert (waited.returncode, f"{id} has been running for" in waited.stderr) == (124, True)
    assert call_nacre("wait", "--until", "text:^begun", "--timeout", "20", id).stderr == f"nacre: {id} printed: begun\n"
    read = call_nacre("output", id.partition("@")[0], "--engine", "ray")
    assert (read.stdout, f"{id} has been running for" in read.stderr) == ("begun\n", True)

    killed = call_nacre("kill", id)
    assert (killed.returncode, killed.stderr.startswith(f"nacre: {id}: ")) == (0, True), killed
    asyncio.run(life.wait_until_ended(within=_LONG))
    assert id not in call_nacre("tasks", "--engine", "ray").stdout
    assert id in call_nacre("tasks", "--engine", "ray", "--all").stdout


def test_cluster_task_can_be_written_to_and_followed(call_nacre: CallNacre) -> None:
    id = call_nacre("run", "--engine", "ray", "--background", "--open-stdin", "cat; exit 4").stdout.strip()
    assert call_nacre("write", id, "one@two\n").returncode == 0
    assert call_nacre("write", id, "-", "--close", stdin="three\n").returncode == 0
    followed = call_nacre("output", "-f", id)
    assert (followed.stdout, followed.returncode) == ("one@two\nthree\n", 0)
    assert call_nacre("wait", id).returncode == 4
    assert call_nacre("wait", "--any", id, id).returncode == 4


def test_unknown_cluster_task_is_reported(call_nacre: CallNacre) -> None:
    done = call_nacre("kill", "bash-00000000@" + "0" * 8)
    assert (done.returncode, "No node has task 'bash-00000000@00000000'" in done.stderr) == (125, True)


async def test_model_reads_and_kills_a_cluster_task_by_its_id(shared: RayEngine, gate: Gate, life: Lifeline) -> None:
    box = Toolbox(Bash(engine=shared), ToolContext())
    answer = await box.call(box.name, {"command": f"{life.hold} echo one; {gate.wait}", "mode": "background"})
    found = re.search(r"bash-[0-9a-f]{8}@[0-9a-f]{8}", answer.text)
    assert found is not None, answer.text
    id = found[0]
    read = await box.call("TaskOutput", {"task_id": id, "timeout": 1})
    assert (f"{id} running for" in read.text, "\none\n" in read.text) == (True, True), read.text
    assert id in (await box.call("TaskList", {})).text
    assert f"Running: {id}" in (await box.call("KillShell", {"shell_id": "bash-00000000"})).text
    ended = await box.call("KillShell", {"shell_id": id})
    assert (ended.error, id in ended.text) == ("", True)
    await life.wait_until_ended(within=_LONG)


async def test_several_cluster_tasks_can_be_awaited_together(shared: RayEngine, machines: Machines, gate: Gate) -> None:
    tasks, ids = shared.tasks(), list[str]()
    for command in (gate.wait, "exit 6"):
        result = await Bash(engine=shared).run(Request(f"echo begun; {command}", mode="background"))
        ids += [result.outcome.task] if isinstance(result.outcome, Running) else []
        ids += [result.task.id] if result.task is not None and not isinstance(result.outcome, Running) else []
    waited = await tasks.wait(ids, any=True, timeout=HANG_TIMEOUT_S)
    assert (waited.met, waited.timed_out, len(waited.tasks)) == ((ids[1],), False, 2)
    waited = await tasks.wait(ids, timeout=0.1)
    assert (waited.met, waited.timed_out) == ((ids[1],), True)
    gate.open()
    assert [task.exit_code for task in (await tasks.wait(ids, timeout=HANG_TIMEOUT_S)).tasks] == [0, 6]
