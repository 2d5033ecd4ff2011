"""Engines that start slowly: the caller need not wait. Uses a fake podman whose containers never come up."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from nacre import Bash, Cancel, Request, ToolContext
from nacre.engines import LOCAL, Containers, Engine, RunHandle
from nacre.keeper.client.connection import TaskDirHandle
from nacre.result import Cancelled, TimedOut
from nacre.tasks import Tasks
from nacre.types import Mode, Plan
from tests.support.lifeline import Lifeline
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S, until, wait_at_most

pytestmark = pytest.mark.linux


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "podman"
    path.write_text(f"#!/bin/bash\n[[ $1 != run ]] || {{ echo run >>{quote(tmp_path)}/asked; cat >/dev/null; }}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("mode", ["default", "background"])
async def test_cancelling_does_not_wait_for_a_container(program: Path, tmp_path: Path, mode: Mode) -> None:
    engine, cancel = Containers("image", program=str(program)), Cancel()
    ctx = ToolContext(working_dir=tmp_path, output_dir=tmp_path / "tasks", cancel=cancel)
    run = asyncio.create_task(Bash(engine=engine).run(Request("true", mode=mode), ctx))
    await until((tmp_path / "asked").exists, "a container that is asked for")
    cancel.cancel()
    result = await asyncio.wait_for(run, HANG_TIMEOUT_S)
    assert (result.outcome, result.pid, result.task) == (Cancelled(), None, None)
    assert Tasks(tmp_path / "tasks").list() == []
    await engine.aclose()


async def test_timeout_does_not_wait_for_a_container(program: Path, tmp_path: Path) -> None:
    engine = Containers("image", program=str(program))
    run = Bash(engine=engine).run(Request("true", timeout=1), ToolContext(working_dir=tmp_path))
    result = await asyncio.wait_for(run, HANG_TIMEOUT_S)
    assert (result.outcome, result.pid) == (TimedOut(1), None)
    await engine.aclose()


class Slow(Engine):
    """An engine that starts a command at once but reports it only when released, so that every cancellation is late."""

    name, is_local = "slow", False

    def __init__(self) -> None:
        self.asked, self.goes_on = asyncio.Event(), asyncio.Event()

    def sandbox_plan(self, *_: object) -> None:
        return None

    async def start(self, plan: Plan, state: int | None = None, folder: TaskDirHandle | None = None) -> RunHandle:
        run = await LOCAL.start(plan, state, folder)
        self.asked.set()
        while not self.goes_on.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.goes_on.wait()
        return run


@pytest.mark.parametrize("how", ["cancelled", "called off", "late"])
async def test_command_started_after_its_cancellation_is_killed(life: Lifeline, how: str) -> None:
    for limit in TIME_LIMITS_S if how == "late" else (300,):
        engine, cancel = Slow(), Cancel()
        request = Request(f"{life.hold} sleep 300", timeout=limit)
        run = asyncio.create_task(Bash(engine=engine).run(request, ToolContext(cancel=cancel)))
        await engine.asked.wait()
        if how != "late":
            await life.wait_until_held()
            break
        if await wait_at_most(limit, lambda: life.holders):
            await life.wait_until_ended()  # the engine does not report the timeout before it continues
            break
        engine.goes_on.set()
        await run
    if how == "cancelled":
        run.cancel()
    elif how == "called off":
        cancel.cancel()
    asyncio.get_running_loop().call_later(0.5, engine.goes_on.set)
    await asyncio.wait([run], timeout=HANG_TIMEOUT_S)
    await life.wait_until_ended()
    assert run.cancelled() if how == "cancelled" else run.result().outcome in (Cancelled(), TimedOut(limit))
