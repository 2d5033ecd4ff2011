"""A run's directory that both sides see: nothing of it is left for another command to read."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from nacre import Cancel, Request, Result
from nacre.engines.guest.run_dir import GuestStatus, RunDir
from nacre.keeper.client.connection import keeper_connection, private_directory
from nacre.result import Cancelled, Exited
from tests.engines.conftest import Place
from tests.support.lifeline import Lifeline
from tests.support.waiting import turn_loop, until


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    return RunDir(str(tmp_path / "letter"), b"echo private", b"export TOKEN=private", {"options": b"private"})


def list_run_dirs(place: Place) -> list[str]:
    """Return the directories of runs that exist."""
    from nacre.engines import Containers

    if isinstance(place.bash.engine, Containers):
        folders = [container.run_dirs for _, container in place.bash.engine._containers.items()]
        return [name for folder in folders for name in os.listdir(folder) if name.isdigit()]
    return [name for name in os.listdir(private_directory()) if name.startswith("letter-")]


async def cancel_run(run: asyncio.Task[Result], cancel: Cancel | None) -> None:
    """Cancel the run, with this switch or through its asyncio task."""
    if cancel is not None:
        cancel.cancel()
        assert (await run).outcome == Cancelled()
    else:
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


@pytest.mark.linux
@pytest.mark.parametrize("switched", [True, False], ids=["by a switch", "with its task"])
async def test_run_cancelled_before_its_start_leaves_no_run_directory(place: Place, switched: bool) -> None:
    if place.bash.engine.name == "local":
        pytest.skip("the local engine has no run directory")
    await place.run("true")
    await until(lambda: list_run_dirs(place) == [], "the end of the first letter")
    keeper = keeper_connection().pid
    for _ in range(5):
        cancel = Cancel()
        os.kill(keeper, signal.SIGSTOP)  # cancelling a run wakes it
        run = asyncio.create_task(place.run(Request("touch made", env={"TOKEN": "private"}), cancel=cancel))
        await until(lambda: len(list_run_dirs(place)) == 1, "its letter")
        await turn_loop(10)  # until the request is sent
        await cancel_run(run, cancel if switched else None)
        await until(lambda: list_run_dirs(place) == [], "the end of the letter")
    assert (await place.run("test ! -e made")).outcome == Exited(0)


@pytest.mark.linux
@pytest.mark.parametrize("turns", [0, 3, None], ids=["at once", "soon", "while it runs"])
@pytest.mark.parametrize("switched", [True, False], ids=["by a switch", "with its task"])
async def test_cancelled_promotable_run_leaves_no_run_directory(
    place: Place, life: Lifeline, switched: bool, turns: int | None
) -> None:
    if place.bash.engine.name == "local":
        pytest.skip("the local engine has no run directory")
    await place.run("true")
    cancel = Cancel()
    run = asyncio.create_task(place.run(Request(f"{life.hold} sleep 60", yield_after=60), cancel=cancel))
    await until(lambda: len(list_run_dirs(place)) == 1, "its letter")
    if turns is None:
        await life.wait_until_held()
    else:
        await turn_loop(turns)
    await cancel_run(run, cancel if switched else None)
    await until(lambda: list_run_dirs(place) == [], "the end of the letter")


async def test_closed_run_directory_contains_nothing_to_read(run_dir: RunDir) -> None:
    run_dir.close_start_pipe()
    left = {name for name in os.listdir(run_dir.path) if not Path(run_dir.path, name).is_fifo()}
    assert left == {"gate", "options"}
    assert Path(run_dir.path, "gate").read_bytes() == b""
    run_dir.close_start_pipe()


async def test_run_directory_is_removed_when_its_status_pipe_fails(run_dir: RunDir, tmp_path: Path) -> None:
    os.unlink(tmp_path / "letter" / "state")
    before = set(os.listdir("/dev/fd"))
    with pytest.raises(FileNotFoundError):
        GuestStatus(run_dir, 0, cwd="/", unstarted="")
    assert os.listdir(tmp_path) == []
    assert set(os.listdir("/dev/fd")) == before


async def test_run_directory_that_cannot_be_written_is_removed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        RunDir(str(tmp_path / "letter"), b"echo private", b"export TOKEN=private", {"no/such": b""})
    assert os.listdir(tmp_path) == []
