"""Commands whose keeper was killed before it received them: they have not begun, so the next keeper runs them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre import Bash, Cancel, Request, Result, ToolContext, run_sync
from nacre.base.frozen import replace
from nacre.errors import KeeperFailed
from nacre.keeper.client.connection import KeeperConnection, PendingRun, keeper_connection
from nacre.result import Cancelled, Exited, Lost, Outcome, Running
from nacre.tasks import Tasks
from nacre.types import Access
from tests.support.census import state
from tests.support.lifeline import Gate
from tests.support.quoting import quote
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until, wait_until

Killed = Callable[[int], None]


def stop(keeper: KeeperConnection) -> None:
    os.kill(keeper.pid, signal.SIGSTOP)
    wait_until(lambda: state(keeper.pid) in ("T", "Z"), "the keeper to stand still")


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Killed:
    """Make the next N keepers that are sent a run die before they receive it; return the function that sets N."""
    left, start = 0, KeeperConnection.start

    def start_and_kill(keeper: KeeperConnection, *asked: object) -> PendingRun:
        nonlocal left
        if not left:
            return start(keeper, *asked)  # type: ignore[arg-type]
        left -= 1
        stop(keeper)
        try:
            return start(keeper, *asked)  # type: ignore[arg-type]
        finally:
            os.kill(keeper.pid, signal.SIGKILL)

    def kill(number: int) -> None:
        nonlocal left
        left = number

    monkeypatch.setattr(KeeperConnection, "start", start_and_kill)
    return kill


@pytest.mark.parametrize("access", ["unrestricted", "workspace"])
@pytest.mark.parametrize("yield_after", [None, 10.0])
async def test_command_runs_once_when_its_keeper_dies_before_receiving_it(
    bash: Bash, killed: Killed, tmp_path: Path, access: Access, yield_after: float | None
) -> None:
    if access not in bash.access_modes:
        pytest.skip("no sandbox on this kernel")
    work = tmp_path / "work"
    work.mkdir()
    ctx = ToolContext(working_dir=work, access=access, output_dir=tmp_path / "tasks")
    for number in range(5):
        await bash.run("true", ctx)
        killed(1)
        result = await bash.run(Request(f"echo {number} | tee -a ran", yield_after=yield_after), ctx)
        assert (result.outcome, result.stdout) == (Exited(0), f"{number}\n")
    assert (work / "ran").read_text() == "0\n1\n2\n3\n4\n"


async def test_concurrent_commands_run_once_each_when_their_keeper_is_killed(bash: Bash, tmp_path: Path) -> None:
    await bash.run("true")
    keeper = keeper_connection()
    stop(keeper)
    running = [asyncio.ensure_future(bash.run(f"echo {n} >> {quote(tmp_path)}/ran; echo {n}")) for n in range(60)]
    await turn_loop(10)  # until the requests are sent
    os.kill(keeper.pid, signal.SIGKILL)
    for number, result in enumerate(await asyncio.gather(*running)):
        assert (result.outcome, result.stdout) == (Exited(0), f"{number}\n")
    assert sorted(map(int, (tmp_path / "ran").read_text().split())) == list(range(60))


async def test_task_starts_once_when_its_keeper_dies_before_receiving_it(
    bash: Bash, killed: Killed, tmp_path: Path
) -> None:
    store = tmp_path / "tasks"
    ctx = ToolContext(output_dir=store)
    killed(1)
    result = await bash.run(Request(f"echo ran | tee -a {quote(tmp_path)}/ran; exit 7", mode="background"), ctx)
    if isinstance(result.outcome, Running):
        assert (await Tasks(store).wait(result.outcome.task, timeout=HANG_TIMEOUT_S)).met
    (task,) = Tasks(store).list()
    assert (task.outcome, Tasks(store).output(task.id).text) == (Exited(7), "ran\n")
    assert (tmp_path / "ran").read_text() == "ran\n"


async def test_command_becomes_a_task_though_its_first_keeper_died(
    bash: Bash, killed: Killed, tmp_path: Path, gate: Gate
) -> None:
    store = tmp_path / "tasks"
    for _ in range(10):
        killed(1)
        request = Request(f"seq 20000; {gate.wait}; echo last", yield_after=0.0001)
        result = await bash.run(request, ToolContext(output_dir=store))
        assert result.task is not None
        gate.open()
        assert (await Tasks(store).wait(result.task.id, timeout=HANG_TIMEOUT_S)).met
        assert "\n20000\nlast\n" in (store / result.task.id / "output.log").read_text()


async def test_run_is_lost_when_two_keepers_die_before_receiving_it(bash: Bash, killed: Killed, tmp_path: Path) -> None:
    killed(2)
    result = await bash.run(f"echo ran >> {quote(tmp_path)}/ran")
    assert result.outcome == Lost("nacre's keeper process was killed")
    assert not (tmp_path / "ran").exists()
    assert (await bash.run("echo next")).stdout == "next\n"


REQUESTS = {
    "plain": Request(""),
    "yielding": Request("", yield_after=10.0),
    "background": Request("", mode="background"),
}


@pytest.mark.parametrize("warm", [False, True], ids=["", "with the next keeper there"])
@pytest.mark.parametrize("kind", REQUESTS)
async def test_run_cancelled_between_two_keepers_never_starts(
    bash: Bash, killed: Killed, tmp_path: Path, kind: str, warm: bool
) -> None:
    request = replace(REQUESTS[kind], command=f"echo ran >> {quote(tmp_path)}/ran")
    for _ in range(10):
        cancel = Cancel()
        running, first = start_with_killed_keeper(
            bash, request, ToolContext(cancel=cancel, output_dir=tmp_path / "tasks"), killed
        )
        await until(lambda first=first: not first.alive, "the end of the keeper")  # type: ignore[misc]
        if warm:
            beside = threading.Thread(target=run_sync, args=("true",))
            beside.start()
            beside.join()  # this event loop is blocked meanwhile
        cancel.cancel()
        assert (await running).outcome == Cancelled()
    assert not (tmp_path / "ran").exists()
    assert not Tasks(tmp_path / "tasks").list()


@pytest.mark.parametrize("kind", REQUESTS)
async def test_run_whose_asyncio_task_is_cancelled_between_keepers_leaves_nothing(
    bash: Bash, killed: Killed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    ctx = ToolContext(access=bash.access_modes[-1], output_dir=tmp_path / "tasks", working_dir=tmp_path)
    request = replace(REQUESTS[kind], command=f"echo ran >> {quote(tmp_path)}/ran")
    await bash.run("true", ctx)
    before = set(temporary.iterdir())  # the program's own directory
    for _ in range(5):
        running, first = start_with_killed_keeper(bash, request, ctx, killed)
        await until(lambda first=first: not first.alive, "the end of the keeper")  # type: ignore[misc]
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not Tasks(tmp_path / "tasks").list()
    assert not (tmp_path / "ran").exists()
    assert set(temporary.iterdir()) == before
    keeper_connection().shut_down()


def start_with_killed_keeper(
    bash: Bash, request: Request, ctx: ToolContext, killed: Killed
) -> tuple[asyncio.Task[Result], KeeperConnection]:
    """Start a run whose first keeper is killed; return its task and that keeper."""
    killed(1)
    return asyncio.ensure_future(bash.run(request, ctx)), keeper_connection()


async def test_run_not_received_within_its_timeout_never_starts(bash: Bash, killed: Killed, tmp_path: Path) -> None:
    killed(1)
    result = await bash.run(Request(f"echo ran >> {quote(tmp_path)}/ran", timeout=0.001))
    assert result.outcome == Lost("nacre's keeper process was killed")
    assert not (tmp_path / "ran").exists()


async def test_background_run_without_a_replacement_keeper_makes_no_task(
    bash: Bash, killed: Killed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, _ = start_with_killed_keeper(
        bash, Request("true", mode="background"), ToolContext(output_dir=tmp_path), killed
    )
    await turn_loop()
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(KeeperFailed):
        await running
    assert not Tasks(tmp_path).list()


async def test_run_with_a_tiny_yield_after_becomes_a_task_or_exits(bash: Bash, tmp_path: Path) -> None:
    for after in (1e-9, 1e-6) * 20:
        result = await bash.run(Request("true", yield_after=after), ToolContext(output_dir=tmp_path))
        assert isinstance(result.outcome, Running) or result.outcome == Exited(0)


@pytest.mark.parametrize("yield_after", [None, 10.0])
async def test_command_that_kills_its_keeper_at_once_is_not_run_again(
    tmp_path: Path, yield_after: float | None
) -> None:
    """So it is not run again, neither with a standby shell nor with one that is started for it."""
    ctx = ToolContext(output_dir=tmp_path / "tasks")
    outcomes = set[Outcome]()
    for number in range(20):
        if number % 2:
            await UNCHECKED.run(Request("true", yield_after=yield_after), ctx)
        killing = Request(f"echo {number} >> {quote(tmp_path)}/ran; kill -9 $PPID; sleep 60", yield_after=yield_after)
        outcomes.add((await UNCHECKED.run(killing, ctx)).outcome)
    assert outcomes == {Lost("nacre's keeper process was killed")}
    assert (tmp_path / "ran").read_text() == "".join(f"{number}\n" for number in range(20))
