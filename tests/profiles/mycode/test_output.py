"""The output object: its keys, its codes, and stderr when the command wrote nothing there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, Cancel, InvalidRequest, ToolContext
from nacre.compat.mycode import BashExecutor
from nacre.profiles.mycode import MYCODE
from nacre.result import Cancelled, Lost, NotStarted, OverLimit, Result, Running, TaskRef
from nacre.views.answers import answer
from tests.support.lifeline import Lifeline
from tests.support.waiting import TIME_LIMITS_S

BASH = Bash("mycode")


async def output(command: str, ctx: ToolContext | None = None, **asked: Any) -> dict[str, Any]:
    """Return all but the duration; check that it is a whole number of milliseconds."""
    got = await BASH.call({"command": command, **asked}, ctx)
    assert got.error == ""
    assert json.loads(got.text) == got.data
    data = dict(got.data)
    duration = data.pop("duration_ms")
    assert isinstance(duration, int)
    assert duration >= 0
    return data


@pytest.mark.req("M-02", "M-04")
async def test_successful_command_gives_both_streams_and_exit_code_zero() -> None:
    assert await output("echo out; echo err >&2") == {
        "success": True,
        "stdout": "out\n",
        "stderr": "err\n",
        "exit_code": 0,
        "truncated": False,
    }


@pytest.mark.req("M-02")
async def test_output_object_has_fixed_keys_in_a_fixed_order() -> None:
    got = await BASH.call({"command": "true"})
    assert list(got.data) == ["success", "stdout", "stderr", "exit_code", "duration_ms", "truncated"]
    failed = await BASH.call({"command": "false"})
    assert list(failed.data) == ["success", "stdout", "stderr", "exit_code", "duration_ms"]
    long = await BASH.call({"command": "seq 20000"})
    assert list(long.data) == ["success", "stdout", "stderr", "exit_code", "duration_ms", "truncated"]


@pytest.mark.req("M-02")
@pytest.mark.parametrize("code", [1, 2, 126, 127, 128, 137, 255])
async def test_failed_command_gives_its_exit_code_and_stderr(code: int) -> None:
    expected = {"success": False, "stdout": "out\n", "stderr": "err\n", "exit_code": code}
    assert await output(f"echo out; echo err >&2; exit {code}") == expected


@pytest.mark.req("M-02")
async def test_failed_command_without_stderr_gets_a_message_in_stderr() -> None:
    expected = {"success": False, "stdout": "", "stderr": "Command failed: grep -q x /dev/null", "exit_code": 1}
    assert await output("grep -q x /dev/null") == expected


@pytest.mark.req("M-02")
async def test_blank_line_in_stderr_is_not_replaced_by_a_message() -> None:
    assert (await output("echo >&2; exit 3"))["stderr"] == "\n"


@pytest.mark.req("M-02", "M-11")
async def test_timeout_is_a_failure_with_a_message_in_stderr(life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        said = f"Command timed out after {limit}000 ms"
        expected = {"success": False, "stdout": "", "stderr": said, "exit_code": 1}
        assert await output(f"{life.hold} sleep 60", timeout=limit * 1000) == expected
        if life.holders:
            break
    await life.wait_until_ended()


@pytest.mark.req("M-02", "M-11")
async def test_timeout_message_follows_stderr_on_a_separate_line(life: Lifeline) -> None:
    command = f"{life.hold} printf half; printf warning >&2; (setsid sleep 60 &); sleep 60"
    for limit in TIME_LIMITS_S:
        got = await output(command, timeout=limit * 1000)
        if got["stderr"].startswith("warning"):
            break
    assert got == {
        "success": False,
        "stdout": "half",
        "stderr": f"warning\nCommand timed out after {limit}000 ms",
        "exit_code": 1,
    }
    await life.wait_until_ended()


@pytest.mark.req("M-02")
async def test_signal_is_named_in_stderr_and_exit_code_is_1() -> None:
    expected = {"success": False, "stdout": "", "stderr": "Command was ended by SIGKILL", "exit_code": 1}
    assert await output("kill -KILL $$") == expected


@pytest.mark.req("M-02")
async def test_killed_child_gives_the_exit_code_of_the_shell() -> None:
    got = await output("bash -c 'kill -TERM $$'; exit $?")
    assert (got["success"], got["exit_code"]) == (False, 143)


@pytest.mark.req("M-02")
async def test_cancelled_command_is_reported_and_leaves_no_process(life: Lifeline) -> None:
    cancel = Cancel()
    async for event in BASH.stream(f"{life.hold} echo half; sleep 60", ToolContext(cancel=cancel)):
        if type(event).__name__ == "Chunk":
            cancel.cancel()
        last = event
    got = answer(last.result, MYCODE.view)  # type: ignore[union-attr]
    assert got.data == {
        "success": False,
        "stdout": "half\n",
        "stderr": "Command was cancelled",
        "exit_code": 1,
        "duration_ms": got.data["duration_ms"],
    }
    await life.wait_until_ended()


TASK = TaskRef("bash-3f9c2a17", 7, 7, "/state/bash-3f9c2a17/mycode-bash-3f9c2a17.log")


@pytest.mark.req("M-02")
@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (NotStarted("no memory", "Close something."), "Command could not be started: no memory. Close something."),
        (NotStarted("no memory"), "Command could not be started: no memory."),
        (Lost("its keeper was killed"), "Command was lost: its keeper was killed"),
        (Cancelled(), "Command was cancelled"),
        (
            OverLimit("memory", 2**30, 2**31),
            "Command went over its limit of 1 GB of memory: it used 2 GB of memory",
        ),
        (Running("bash-3f9c2a17", promoted=True), "Command goes on as bash-3f9c2a17"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_every_other_outcome_is_a_failure_in_the_same_shape(outcome: Any, said: str) -> None:
    got = answer(Result(command="x", cwd="/", outcome=outcome), MYCODE.view)
    assert got.data == {"success": False, "stdout": "", "stderr": said, "exit_code": 1, "duration_ms": 0}


@pytest.mark.req("M-02")
async def test_leftovers_are_reported_with_task_id_and_output_file(life: Lifeline) -> None:
    got = await output(f"{life.hold} sleep 60 >/dev/null 2>&1 & echo started")
    assert got == {
        "success": True,
        "stdout": "started\n",
        "stderr": "",
        "exit_code": 0,
        "truncated": False,
        "task_id": got["task_id"],
        "output_file": got["output_file"],
    }
    executor = BashExecutor()
    assert executor.task_manager.get(got["task_id"])["status"] == "running"
    await executor.task_manager.tasks.kill(got["task_id"])
    await life.wait_until_ended()


@pytest.mark.req("M-02")
async def test_invalid_utf8_is_replaced_and_the_object_is_json() -> None:
    got = await output(r"printf 'a\xff\xc3b\xe2\x82\n'; printf '\x80\xf0\x9f' >&2")
    assert got["stdout"] == "a\ufffd\ufffdb\ufffd\n"
    assert got["stderr"] == "\ufffd\ufffd"


@pytest.mark.req("M-02")
async def test_command_with_odd_bytes_is_sanitized_in_the_failure_message() -> None:
    got = await BASH.call({"command": "false # \udcff\x1b[2J"})
    assert got.data["stderr"] == "Command failed: false # \ufffd[2J"
    got.text.encode()


@pytest.mark.req("M-02", "M-11")
async def test_secrets_are_masked_in_every_field(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hunter2-hunter2")
    ctx = ToolContext(working_dir=tmp_path, secrets=("hunter2-hunter2",))
    assert await output("cat key; cat key >&2; exit 1", ctx) == {
        "success": False,
        "stdout": "[secret]",
        "stderr": "[secret]",
        "exit_code": 1,
    }
    assert (await output("false hunter2-hunter2", ctx))["stderr"] == "Command failed: false [secret]"


@pytest.mark.req("M-02")
async def test_executor_returns_the_same_output_object(tmp_path: Path) -> None:
    executor = BashExecutor()
    got = await executor.execute({"command": "pwd; exit 3"}, {"cwd": str(tmp_path)})
    assert got == {
        "success": False,
        "stdout": f"{tmp_path}\n",
        "stderr": "Command failed: pwd; exit 3",
        "exit_code": 3,
        "duration_ms": got["duration_ms"],
    }


@pytest.mark.req("M-01", "M-14")
async def test_executor_raises_for_bad_input_and_reports_a_bad_directory(tmp_path: Path) -> None:
    executor = BashExecutor()
    with pytest.raises(InvalidRequest, match="`timeout` is"):
        await executor.execute({"command": "true", "timeout": -5})
    assert await executor.execute({"command": "true", "cwd": "missing"}, ToolContext(working_dir=tmp_path)) == {
        "success": False,
        "stdout": "",
        "stderr": f"The working directory '{tmp_path}/missing' does not exist. Give a directory that exists.",
        "exit_code": 1,
        "duration_ms": 0,
    }
