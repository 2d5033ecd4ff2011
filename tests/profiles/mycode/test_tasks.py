"""Background commands, and the manager that lists them."""

from __future__ import annotations

import os
import re
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nacre import Bash, NacreError, ToolContext
from nacre.compat.mycode import BashExecutor, BashOutput, TaskManager
from nacre.toolcall import task_tools
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, until


@pytest.fixture
def executor() -> BashExecutor:
    return BashExecutor()


async def start_task(executor: BashExecutor, command: str, context: object = None, **asked: object) -> BashOutput:
    asked = {"command": command, "run_in_background": True, **asked}
    return await executor.execute(asked, context)  # type: ignore[arg-type]


async def wait_for_end(executor: BashExecutor, id: str) -> None:
    assert not (await executor.task_manager.tasks.wait(id, timeout=HANG_TIMEOUT_S)).timed_out


@pytest.mark.req("M-05")
async def test_background_command_returns_at_once_with_a_task_id(executor: BashExecutor, gate: Gate) -> None:
    got = await start_task(executor, f"{gate.wait}; echo late", description="Wait")
    id = got["task_id"]
    assert re.fullmatch(r"bash-[0-9a-f]{8}", id)
    assert got == {
        "success": True,
        "stdout": f"Background task started: {id}",
        "stderr": "",
        "exit_code": 0,
        "duration_ms": 0,
        "task_id": id,
        "output_file": got["output_file"],
    }
    gate.open()
    await wait_for_end(executor, id)


@pytest.mark.req("M-05")
async def test_background_streams_go_to_one_file_in_a_private_directory(executor: BashExecutor) -> None:
    got = await start_task(executor, "sleep 0.01; echo out; echo err >&2; exit 3")
    await wait_for_end(executor, got["task_id"])
    path = Path(got["output_file"])
    assert path.name == f"mycode-{got['task_id']}.log"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = path.read_text().splitlines()
    assert sorted(lines[:2]) == ["err", "out"]
    assert lines[2].startswith("[nacre: exit 3 after ")


@pytest.mark.req("M-05")
async def test_background_task_runs_in_a_separate_session(executor: BashExecutor, life: Lifeline) -> None:
    got = await start_task(executor, f"{life.hold} sleep 60")
    pid = executor.task_manager.get(got["task_id"])["pid"]
    assert pid is not None
    assert os.getsid(pid) != os.getsid(0)
    await executor.task_manager.tasks.kill(got["task_id"])
    await life.wait_until_ended()


@pytest.mark.req("M-05")
async def test_background_command_uses_cwd_and_env_of_the_call(executor: BashExecutor, tmp_path: Path) -> None:
    got = await start_task(executor, "sleep 0.01; pwd; echo $A", {"cwd": "/"}, cwd=str(tmp_path), env={"A": "b"})
    await wait_for_end(executor, got["task_id"])
    assert Path(got["output_file"]).read_text().startswith(f"{tmp_path}\nb\n")


@pytest.mark.req("M-05")
async def test_background_command_that_exits_at_once_is_reported_as_started(executor: BashExecutor) -> None:
    got = await start_task(executor, "echo quick")
    assert got == {
        "success": True,
        "stdout": f"Background task started: {got['task_id']}",
        "stderr": "",
        "exit_code": 0,
        "duration_ms": 0,
        "task_id": got["task_id"],
        "output_file": got["output_file"],
    }
    await wait_for_end(executor, got["task_id"])
    assert Path(got["output_file"]).read_text().startswith("quick\n")


@pytest.mark.req("M-05")
@pytest.mark.linux
async def test_background_command_that_fails_at_once_is_reported_in_stderr(executor: BashExecutor) -> None:
    got = await start_task(executor, "cd /no/such/place")
    assert (got["success"], got["exit_code"], got["stdout"]) == (
        True,
        0,
        f"Background task started: {got['task_id']}",
    )
    assert got["stderr"].startswith("It has ended already: exit 1\n")
    assert "No such file or directory" in got["stderr"]
    assert executor.task_manager.get(got["task_id"])["exitCode"] == 1


@pytest.mark.req("M-05", "M-14")
async def test_output_dir_holds_the_files_of_background_tasks(executor: BashExecutor, tmp_path: Path) -> None:
    got = await start_task(executor, "sleep 0.01; echo hi", ToolContext(output_dir=tmp_path / "tasks"))
    id = got["task_id"]
    assert got["output_file"] == str(tmp_path / "tasks" / id / f"mycode-{id}.log")
    await until(lambda: executor.task_manager.get(id)["status"] == "completed", "its end")
    assert [task["id"] for task in executor.task_manager.list() if task["id"] == id] == [id]
    assert "hi" in await executor.task_manager.task_output({"task_id": id})


@pytest.mark.req("M-05", "M-02")
async def test_background_command_that_cannot_start_leaves_no_files(executor: BashExecutor, tmp_path: Path) -> None:
    place = tmp_path / "tasks"
    got = await start_task(executor, "true", ToolContext(output_dir=place), env={"A": "x" * 200_000})
    assert got == {
        "success": False,
        "stdout": "",
        "stderr": got["stderr"],
        "exit_code": 1,
        "duration_ms": 0,
    }
    assert got["stderr"].startswith("Command could not be started: Argument list too long")
    assert [path.name for path in place.iterdir()] == [".live"]
    assert list((place / ".live").iterdir()) == []


@pytest.mark.req("M-06")
async def test_task_manager_describes_a_task_while_it_runs_and_after(executor: BashExecutor, gate: Gate) -> None:
    before = datetime.now(UTC).timestamp()
    command = f"{gate.wait}; exit 5"
    got = await start_task(executor, command, description="Fail later")
    manager = executor.task_manager
    task = manager.get(got["task_id"])
    assert task == {
        "id": got["task_id"],
        "type": "bash",
        "command": command,
        "description": "Fail later",
        "pid": task["pid"],
        "outputFile": got["output_file"],
        "startedAt": task["startedAt"],
        "status": "running",
        "exitCode": None,
    }
    assert isinstance(task["pid"], int)
    assert task["startedAt"].tzinfo is UTC
    assert before - 1 <= task["startedAt"].timestamp() <= datetime.now(UTC).timestamp()
    gate.open()
    await wait_for_end(executor, task["id"])
    assert manager.get(task["id"]) == {**task, "status": "failed", "exitCode": 5}
    assert task["id"] in [each["id"] for each in manager.list()]


@pytest.mark.req("M-06")
async def test_exit_zero_is_completed_and_a_killed_task_is_failed(executor: BashExecutor, life: Lifeline) -> None:
    good = await start_task(executor, "sleep 0.01")
    await wait_for_end(executor, good["task_id"])
    bad = await start_task(executor, f"{life.hold} sleep 60")
    await executor.task_manager.tasks.kill(bad["task_id"])
    await life.wait_until_ended()
    states = [executor.task_manager.get(each["task_id"]) for each in (good, bad)]
    assert [(each["status"], each["exitCode"]) for each in states] == [("completed", 0), ("failed", 1)]


@pytest.mark.req("M-06")
async def test_task_is_known_to_another_executor(executor: BashExecutor) -> None:
    got = await start_task(executor, "sleep 0.01; exit 2")
    await wait_for_end(executor, got["task_id"])
    assert BashExecutor().task_manager.get(got["task_id"]) == executor.task_manager.get(got["task_id"])


@pytest.mark.req("M-06")
async def test_listing_shows_tasks_and_task_output_reads_from_a_cursor(executor: BashExecutor, gate: Gate) -> None:
    got = await start_task(executor, f"echo first; {gate.wait}; echo second", description="Say two things")
    id = got["task_id"]
    assert re.search(
        rf"^{id} running for .*: echo first; .* \(Say two things\)$", await listing(executor), re.MULTILINE
    )
    await until(lambda: "first" in Path(got["output_file"]).read_text(), "its first line")
    look = await executor.task_manager.task_output({"task_id": id, "block": False})
    assert look.splitlines()[1:] == ["first", "[nacre: cursor 6: pass since=6 for later output]"]
    gate.open()
    rest = await executor.task_manager.task_output({"task_id": id, "since": 6})
    assert rest.splitlines()[1:] == ["second", "[nacre: cursor 13: pass since=13 for later output]"]
    assert re.match(rf"\[nacre: {id} exited with 0 after ", rest)
    assert f"{id} exited with 0 after " in await listing(executor)


async def listing(executor: BashExecutor) -> str:
    return await executor.task_manager.listing()


@pytest.mark.req("M-06")
async def test_tool_description_names_the_task_output_tool() -> None:
    names = [definition["name"] for definition in task_tools.definitions()]
    assert "TaskOutput" in names
    assert "TaskOutput" in Bash("mycode").definition()["description"]


@pytest.mark.req("M-06")
async def test_task_of_another_program_can_be_registered_and_completed(tmp_path: Path) -> None:
    manager = TaskManager(tmp_path)
    assert manager.list() == []
    assert await manager.listing() == "There are no tasks."
    entry = {
        "id": "bash-abc123",
        "type": "bash",
        "command": "npm test",
        "description": "Run tests",
        "pid": 4711,
        "outputFile": "/tmp/mycode-bash-abc123.log",
        "startedAt": datetime(2025, 1, 15, tzinfo=UTC),
        "status": "running",
    }
    manager.register(entry)  # type: ignore[arg-type]
    assert manager.list() == [{**entry, "exitCode": None}]
    manager.complete("bash-abc123", 0)
    assert manager.get("bash-abc123") == {**entry, "status": "completed", "exitCode": 0}
    manager.complete("bash-abc123", 7)
    assert manager.get("bash-abc123") == {**entry, "status": "failed", "exitCode": 7}


@pytest.mark.req("M-06")
async def test_unknown_task_id_raises_or_gives_an_error_text(tmp_path: Path) -> None:
    manager = TaskManager(tmp_path)
    for ask in (manager.get, lambda id: manager.complete(id, 0)):
        with pytest.raises(NacreError, match="No such task"):
            ask("bash-00000000")
    assert (await manager.task_output({"task_id": "bash-00000000"})).startswith("Error (no_such_task): ")
    assert (await manager.task_output({})).startswith("Error (missing_argument): ")


@pytest.mark.req("M-06")
async def test_complete_does_not_change_the_status_of_a_running_task(executor: BashExecutor, gate: Gate) -> None:
    got = await start_task(executor, gate.wait)
    executor.task_manager.complete(got["task_id"], 0)
    assert executor.task_manager.get(got["task_id"])["status"] == "running"
    gate.open()
    await wait_for_end(executor, got["task_id"])
