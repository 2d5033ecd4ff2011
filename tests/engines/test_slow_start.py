"""An engine that takes its time to start something: whoever asked need not wait for it. With a podman of our own, whose
containers never come up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nacre import Bash, Cancel, Request, ToolContext
from nacre.engines import Containers
from nacre.result import Cancelled, TimedOut
from nacre.tasks import Tasks
from nacre.types import Mode
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.linux


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "podman"
    path.write_text(f"#!/bin/bash\n[[ $1 != run ]] || {{ echo run >>{tmp_path}/asked; cat >/dev/null; }}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("mode", ["default", "background"])
async def test_cancelling_does_not_wait_for_a_container(program: Path, tmp_path: Path, mode: Mode) -> None:
    engine, cancel = Containers("image", program=str(program)), Cancel()
    ctx = ToolContext(working_dir=tmp_path, output_dir=tmp_path / "tasks", cancel=cancel)
    run = asyncio.create_task(Bash(engine=engine).run(Request("true", mode=mode), ctx))
    await until((tmp_path / "asked").exists, "a container that is asked for")
    cancel.cancel()
    result = await asyncio.wait_for(run, PATIENCE)
    assert (result.outcome, result.pid, result.task) == (Cancelled(), None, None)
    assert Tasks(tmp_path / "tasks").list() == []
    await engine.aclose()


async def test_the_time_of_a_command_is_over_though_its_container_is_not_there(program: Path, tmp_path: Path) -> None:
    engine = Containers("image", program=str(program))
    run = Bash(engine=engine).run(Request("true", timeout=1), ToolContext(working_dir=tmp_path))
    result = await asyncio.wait_for(run, PATIENCE)
    assert (result.outcome, result.pid) == (TimedOut(1), None)
    await engine.aclose()
