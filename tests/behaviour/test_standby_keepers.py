"""Standby keepers: a dedicated keeper whose command did not become a task returns to the pool for the next command."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from pathlib import Path

import pytest

from nacre import Bash, Request, Result, ToolContext
from nacre.keeper.client.connection import keeper_connection
from nacre.result import Exited, Lost, Running
from nacre.tasks import Match, Tasks
from tests.support.census import Cost, children, cost, forked_keepers, is_alive, ready_shells, state, status
from tests.support.lifeline import Gate
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until, until_steady, wait_until

pytestmark = pytest.mark.linux


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    return ToolContext(working_dir=tmp_path, output_dir=tmp_path / "tasks")


@pytest.fixture(autouse=True)
def replace_keeper() -> None:
    """Kill the keeper; the standby keepers that it forked for other tests die with it."""
    keeper = keeper_connection()
    os.kill(keeper.pid, signal.SIGKILL)
    wait_until(lambda: not keeper.alive, "it to be dead")


def dedicated_keepers() -> list[int]:
    return forked_keepers(keeper_connection().pid)


async def keeper_of(bash: Bash, ctx: ToolContext, command: str = "") -> int:
    """Run a command that exits in time; return the PID of its dedicated keeper."""
    result = await bash.run(Request(f"echo $PPID; {command}", yield_after=30), ctx)
    assert result.outcome == Exited(0)
    return int(result.stdout)


async def wait_until_pooled(keeper: int) -> None:
    """Wait until the keeper is in the pool again: it reports that before it starts a standby shell."""
    await until(lambda: ready_shells(keeper), "it to be ready for another")


async def measure_idle(*keepers: int) -> list[Cost]:
    """Return the resources of each keeper while it waits with one child. A new shell is visible before its keeper has
    closed the shell's ends of the pipes; after that, the keeper sleeps until the next message."""

    def idle() -> list[Cost]:
        before = [state(keeper) for keeper in keepers]
        held = [cost(keeper) for keeper in keepers]
        after = [state(keeper) for keeper in keepers]
        resting = {*before, *after} == {"S"} and all(each.children == 1 for each in held)
        return held if resting else []

    await until(lambda: all(ready_shells(keeper) or forked_keepers(keeper) for keeper in keepers), "their children")
    held = list[Cost]()
    while not held:
        await until(idle, "keepers at rest")
        held = await until_steady(idle)
    return held


async def test_consecutive_commands_share_one_dedicated_keeper(bash: Bash, ctx: ToolContext) -> None:
    first = await keeper_of(bash, ctx)
    assert first != keeper_connection().pid
    for command in ("true", "yes | head -c 300000 >&2", "cd /; (exit 3); setsid true"):
        await wait_until_pooled(first)
        assert await keeper_of(bash, ctx, command) == first


async def test_keeper_resources_do_not_grow_when_it_returns_to_the_pool(bash: Bash, ctx: ToolContext) -> None:
    keeper = await keeper_of(bash, ctx)
    await wait_until_pooled(keeper)
    before = await measure_idle(keeper, keeper_connection().pid)
    for _ in range(50):
        assert await keeper_of(bash, ctx, "sleep 0.001 & wait") == keeper
        await wait_until_pooled(keeper)
    # when commands follow each other without a pause, a second standby shell is kept for a second
    await until(lambda: [cost(keeper), cost(keeper_connection().pid)] == before, "all to be as before")


async def test_keeper_of_a_task_stays_with_its_task(bash: Bash, ctx: ToolContext, tmp_path: Path) -> None:
    keeper = await keeper_of(bash, ctx)
    await wait_until_pooled(keeper)
    result = await bash.run(Request("echo $PPID; sleep 300", yield_after=0.1), ctx)
    assert isinstance(result.outcome, Running)
    task, tasks = result.outcome.task, Tasks(tmp_path / "tasks")
    assert (await tasks.wait(task, until=Match(f"^{keeper}$"), timeout=HANG_TIMEOUT_S)).met
    assert await keeper_of(bash, ctx) != keeper
    await tasks.kill(task, grace=0)
    await until(lambda: not is_alive(keeper), "it to go with its task")


async def test_keeper_of_leftovers_does_not_return_to_the_pool(bash: Bash, ctx: ToolContext) -> None:
    keeper = await keeper_of(bash, ctx, "sleep 300 >/dev/null 2>&1 &")
    assert await keeper_of(bash, ctx) != keeper
    left = [pid for pid in children(keeper) if status(pid).get("Name") == "sleep"]
    assert len(left) == 1
    os.kill(left[0], signal.SIGKILL)
    await until(lambda: not is_alive(left[0]), "it to be gone")


async def test_leftover_keeps_its_private_directory(bash: Bash, tmp_path: Path, gate: Gate) -> None:
    if "workspace" not in bash.access_modes:
        pytest.skip("no sandbox on this kernel")
    ctx = ToolContext(working_dir=tmp_path, access="workspace")
    work = f'{gate.wait}; cd "$TMPDIR" && pwd >{quote(tmp_path)}/there; echo >>{quote(tmp_path)}/done'
    left = f"({work}) </dev/null >/dev/null 2>&1 &"
    result = await bash.run(Request(left, yield_after=30, leftovers="keep"), ctx)
    assert result.outcome == Exited(0)
    gate.open()
    await until((tmp_path / "done").exists, "it to have looked")
    assert (tmp_path / "there").read_text()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_killed_or_stopped_standby_keeper_does_not_harm_the_next_command(
    bash: Bash, ctx: ToolContext, number: signal.Signals
) -> None:
    keeper = await keeper_of(bash, ctx)
    await wait_until_pooled(keeper)
    os.kill(keeper, number)
    await until(lambda: state(keeper) in ("T", "Z", ""), "the signal to have its effect")
    assert (await keeper_of(bash, ctx) == keeper) == (number == signal.SIGSTOP)


async def test_command_runs_at_most_once_when_its_standby_keeper_is_killed(
    bash: Bash, ctx: ToolContext, tmp_path: Path
) -> None:
    async def run_and_look(number: int) -> tuple[Result, bool]:
        result = await bash.run(Request(f"echo {number} >> ran; echo {number}", yield_after=30), ctx)
        return result, f"{number}\n" in (tmp_path / "ran").read_text()

    (tmp_path / "ran").touch()
    for number in range(40):
        keeper = await keeper_of(bash, ctx)
        await wait_until_pooled(keeper)
        running = asyncio.ensure_future(run_and_look(number))
        await turn_loop(number % 8)  # loop iterations: up to the request and beyond
        os.kill(keeper, signal.SIGKILL)
        result, begun = await running
        whole = (result.outcome, result.stdout) == (Exited(0), f"{number}\n")
        assert whole or (isinstance(result.outcome, Lost) and result.stdout in ("", f"{number}\n")), result
        assert begun or not whole
    noted = (tmp_path / "ran").read_text().split()
    assert len(noted) == len(set(noted)), "a command ran twice"


async def test_one_standby_keeper_remains_after_many_concurrent_runs(bash: Bash, ctx: ToolContext, gate: Gate) -> None:
    running = [asyncio.ensure_future(keeper_of(bash, ctx, gate.wait)) for _ in range(20)]
    await until(lambda: len(dedicated_keepers()) >= 20, "each to have its own")
    gate.open(20)
    kept = await asyncio.gather(*running)
    assert len(set(kept)) == 20
    await until(lambda: len(dedicated_keepers()) == 1, "the others to go")


async def test_restricted_run_leaves_no_private_directory_with_its_standby_keeper(
    bash: Bash, ctx: ToolContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "restricted" not in bash.access_modes:
        pytest.skip("no sandbox on this kernel")
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    ctx = ToolContext(working_dir=tmp_path, access="restricted")
    for command in ("true", 'echo a >"$TMPDIR/a"'):
        await keeper_of(bash, ctx, command)
        await until(lambda: not os.listdir(place), "its directory to be removed")


async def test_standby_keeper_exits_with_the_keeper_that_forked_it(bash: Bash, ctx: ToolContext) -> None:
    keeper = await keeper_of(bash, ctx)
    await wait_until_pooled(keeper)
    os.kill(keeper_connection().pid, signal.SIGKILL)
    await until(lambda: not is_alive(keeper), "it to go")
    assert await keeper_of(bash, ctx) != keeper
