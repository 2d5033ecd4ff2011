"""Deaths by the machine's OOM killer. They have their own file, because the kernel's counter is global."""

from __future__ import annotations

import signal

import pytest

from nacre import Bash, Request
from nacre.keeper.server.memory import oom_kills
from nacre.result import Exited, Signalled
from nacre.tasks import Tasks
from tests.support.cgroups import memory_group
from tests.support.lifeline import Gate
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = pytest.mark.linux


@pytest.mark.parametrize("how", ["exec python3", "python3"])
async def test_oom_kill_of_a_run_is_distinguished_from_other_kills(bash: Bash, how: str) -> None:
    hog = "x = bytearray(200 << 20); print(len(x))"
    with memory_group(40 << 20) as members:
        result = await bash.run(f"echo $$ > {members}; {how} -c '{hog}'")
    assert (result.exit_code == 137, "out of memory" in "".join(result.notes)) == (how == "python3", True)
    seen = -1
    while seen != oom_kills():  # global counter: another program may have been the one killed
        seen = oom_kills()
        other = await bash.run("kill -9 $$")
    assert other.notes == ()


@pytest.mark.parametrize(("how", "outcome"), [("exec python3", Signalled(signal.SIGKILL)), ("python3", Exited(137))])
async def test_oom_kill_of_a_task_is_distinguished_from_other_kills(
    bash: Bash, gate: Gate, how: str, outcome: object
) -> None:
    tasks = Tasks()
    hog = "x = bytearray(200 << 20); print(len(x))"
    with memory_group(40 << 20) as members:
        task = await start_task(bash, f"echo $$ > {members}; {gate.wait}; {how} -c '{hog}'")
        gate.open()
        await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    ended = tasks.get(task)
    assert (ended.outcome, ended.out_of_memory) == (outcome, True)
    seen = -1
    while seen != oom_kills():
        seen = oom_kills()
        other = await start_task(bash, f"{gate.wait}; kill -9 $$")
        gate.open()
        await tasks.wait(other, timeout=HANG_TIMEOUT_S)
    assert not tasks.get(other).out_of_memory


async def start_task(bash: Bash, command: str) -> str:
    result = await bash.run(Request(command, mode="background"))
    assert result.task is not None
    return result.task.id
