"""A small `Limits(file_size=…)` limits the command's files, and nothing that nacre itself writes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from nacre import Bash, Limits, Request, Session, ToolContext
from nacre.result import Exited, PipelineStatus, Running, Signalled
from nacre.sandbox.probe import probe
from nacre.tasks import Tasks
from nacre.types import Access
from tests.support.lifeline import Gate
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = [pytest.mark.req("M-11"), pytest.mark.linux]

needs_landlock = pytest.mark.skipif(not probe().confines, reason="no Landlock here")
every_access = pytest.mark.parametrize(
    "access",
    [
        pytest.param("restricted", marks=needs_landlock),
        pytest.param("workspace", marks=needs_landlock),
        "unrestricted",
    ],
)
ONE_BYTE = Limits(file_size=1)


@every_access
async def test_pipeline_runs_with_a_file_size_limit_of_one_byte(bash: Bash, place: Path, access: Access) -> None:
    ctx = ToolContext(access=access, working_dir=place, limits=ONE_BYTE)
    result = await bash.run("echo hi | cat", ctx)
    assert (result.outcome, result.output, result.notes) == (Exited(0), "hi\n", ())
    assert result.pipestatus == (PipelineStatus("echo", 0), PipelineStatus("cat", 0))


@every_access
async def test_session_state_carries_over_with_a_file_size_limit_of_one_byte(
    bash: Bash, place: Path, access: Access
) -> None:
    session = Session(bash, ToolContext(access=access, working_dir=place, limits=ONE_BYTE))
    result = await session.run("cd /; export SHORT=yes LONG=$(printf %0100000d 0); false | cat")
    assert (result.outcome, session.cwd) == (Exited(0), "/")
    assert result.pipestatus == (PipelineStatus("false", 1), PipelineStatus("cat", 0))
    result = await session.run("echo $SHORT ${#LONG}; pwd; exit 3")
    assert (result.outcome, result.output) == (Exited(3), "yes 100000\n/\n")


async def test_file_size_limit_applies_to_files_of_the_command(bash: Bash, place: Path) -> None:
    ctx = ToolContext(working_dir=place, limits=ONE_BYTE)
    result = await bash.run("echo hi > file", ctx)
    assert result.outcome == Signalled(signal.SIGXFSZ)
    assert result.notes == ("Over the limit of 1 byte in a file, for each process.",)
    limit = await bash.run("ulimit -f; ulimit -Hf", ctx)
    assert limit.output == "0\n0\n"  # in blocks of 1024 bytes


async def test_task_that_outlives_its_call_exits_with_its_own_status(bash: Bash, place: Path, gate: Gate) -> None:
    """No process reads the exit state any more when the task's shell writes it."""
    ctx = ToolContext(working_dir=place, limits=ONE_BYTE)
    session = Session(bash, ctx)
    result = await session.run(Request(f"{gate.wait}; exit 7", yield_after=0.2))
    assert result.task is not None
    assert result.outcome == Running(result.task.id, promoted=True)
    gate.open()
    tasks = Tasks()
    await tasks.wait(result.task.id, timeout=HANG_TIMEOUT_S)
    assert tasks.get(result.task.id).outcome == Exited(7)


async def test_flooding_the_state_descriptor_leaves_the_session_unchanged(bash: Bash, place: Path) -> None:
    session = Session(bash, ToolContext(working_dir=place, limits=ONE_BYTE))
    result = await session.run("export A=1; cd /; head -c 20000000 /dev/zero 2>/dev/null >&63; echo done; exit 4")
    assert (result.outcome, result.stdout) == (Exited(4), "done\n")
    assert "A" not in session.env_changes
    assert (await session.run("echo fine")).output == "fine\n"
