"""The proposal's own examples and its list of tests, one by one; what other files prove is only named here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nacre import Bash, Request, ToolContext
from nacre.compat.mycode import BashExecutor
from nacre.profiles.mycode import MYCODE
from nacre.result import Captured, Chunk, Exited, Refused, Result, Running, TaskRef
from nacre.toolcall.parse import parse_request
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.live import LiveView
from nacre.views.panels.background import background_box
from nacre.views.panels.refusal import refusal
from nacre.views.panels.run import panel
from nacre.views.panels.streamed import draw_streamed
from nacre.views.panels.style import render
from tests.support.lifeline import Lifeline
from tests.support.plain_bash import captured_text

CAPABILITIES = TerminalCapabilities(80)


def result(command: str, text: str, **fields: object) -> Result:
    captured = captured_text(text)
    return Result(command=command, cwd="/work", outcome=Exited(0), out=captured, both=captured, **fields)  # type: ignore[arg-type]


# user experience


@pytest.mark.req("M-10")
def test_foreground_run_is_drawn_with_its_description() -> None:
    built = result("npm run build", "\n> mycode@1.0.0 build\n> tsc\n\nBuild completed successfully.\n", duration=4.2)
    text = render(draw_streamed(built, CAPABILITIES, description="Build the project"), CAPABILITIES)
    assert text.splitlines()[0] == "Running: Build the project"
    assert "Build completed successfully." in text
    assert text.endswith("Exit code: 0\nDuration: 4200ms\n")


@pytest.mark.req("M-10", "M-05")
def test_background_box_shows_task_id_command_and_output_file() -> None:
    task = TaskRef("bash-abc12345", 7, 7, "/state/bash-abc12345/mycode-bash-abc12345.log")
    started = Result(command="npm test", cwd="/work", outcome=Running(task.id), pid=7, task=task)
    text = render(background_box(started, CAPABILITIES, description="Run tests"), CAPABILITIES)
    lines = [line.strip("│ ") for line in text.splitlines()]
    assert text.startswith("╭─ Background Task Started ─")
    for line in ("Task ID: bash-abc12345", "Command: npm test", f"Output:  {task.output_file}"):
        assert line in lines
    assert [line for line in lines if line.startswith("Use ")][:2] == [
        "Use nacre tasks to check status",
        "Use nacre output -f bash-abc12345 to get results",
    ]


@pytest.mark.req("M-10", "M-07")
async def test_streamed_lines_are_drawn_in_the_live_view_and_at_the_end() -> None:
    command = "echo added 1 package in 1s; echo added 523 packages in 32s"
    live = LiveView(command, "/work", timeout=300.0, description="npm install")
    async for event in Bash("mycode").stream(Request(command, timeout=300)):
        if isinstance(event, Chunk):
            live.feed(event.stream, event.data)
    lines = live.lines(32.4, 52, 24)
    rule = "─" * 51
    expected = ["Running: npm install", rule, "added 1 package in 1s", "added 523 packages in 32s", rule]
    assert lines[:-1] == expected
    done = result(command, "added 523 packages in 32s\n", duration=32.4)
    text = render(draw_streamed(done, TerminalCapabilities(52), description="npm install"), TerminalCapabilities(52))
    assert text.splitlines()[-3:] == ["─" * 52, "Exit code: 0", "Duration: 32.4s"]


@pytest.mark.req("M-10", "M-09")
def test_safety_block_shows_reason_alternative_and_rule() -> None:
    verdict = BashExecutor().check_safety("rm -rf /")
    blocked = Result(
        command="rm -rf /",
        cwd="/work",
        outcome=Refused("mycode-blocked-rm", verdict["reason"], "name the exact paths that have to go"),
    )
    assert render(refusal(blocked, CAPABILITIES), CAPABILITIES).splitlines() == [
        "── Command blocked " + "─" * 50 + " not run ──",
        "$ rm -rf /",
        "─" * 80,
        "Why:     Command contains blocked pattern: rm -rf /",
        "Instead: name the exact paths that have to go",
        "Rule:    mycode-blocked-rm",
        "─" * 80,
    ]


@pytest.mark.req("M-10", "M-08")
async def test_truncated_output_shows_the_count_of_missing_characters() -> None:
    got = await BashExecutor().execute({"command": "printf '%075678d' 0"})
    assert "\n\n... (45678 characters truncated) ...\n\n" in got["stdout"]
    cut = Captured(head=b"begin\n", tail=b"end\n", total_bytes=45_688, dropped_bytes=45_678, dropped_chars=45_678)
    shown = render(panel(replace(result("cat large-file.log", ""), out=cut, both=cut), CAPABILITIES), CAPABILITIES)
    assert "begin\n" in shown
    assert "end\n" in shown
    assert "45,678" in shown
    assert "(truncated) " in shown


# testing strategy: unit


@pytest.mark.req("M-16")
def test_json_arguments_are_parsed_into_a_request() -> None:
    text = '{"command": "npm test", "description": "Run tests", "timeout": 300000}'
    assert parse_request(text, MYCODE) == Request("npm test", description="Run tests", timeout=300.0)


@pytest.mark.req("M-16", "M-09")
def test_check_safety_refuses_only_the_dangerous_command() -> None:
    executor = BashExecutor()
    assert [executor.check_safety(command)["safe"] for command in ("rm -rf /", "rm -rf ./build", "ls")] == [
        False,
        True,
        True,
    ]


@pytest.mark.req("M-16", "M-08")
def test_truncate_keeps_both_ends_of_the_text() -> None:
    assert BashExecutor({"maxOutputSize": 4}).truncate("abcdef") == "ab\n\n... (2 characters truncated) ...\n\nef"


@pytest.mark.req("M-16", "M-01")
async def test_timeout_kills_the_command_and_is_reported(life: Lifeline) -> None:
    got = await BashExecutor({"defaultTimeout": 200}).execute({"command": f"{life.hold} sleep 60"})
    assert (got["success"], got["stderr"]) == (False, "Command timed out after 200 ms")
    await life.wait_until_ended()


# integration


@pytest.mark.req("M-16", "M-05", "M-06")
async def test_background_command_ends_with_output_and_exit_code() -> None:
    executor = BashExecutor()
    got = await executor.execute({"command": "sleep 0.01; echo done", "run_in_background": True})
    text = await executor.task_manager.task_output({"task_id": got["task_id"], "timeout": 20})
    assert text.splitlines()[1] == "done"
    assert executor.task_manager.get(got["task_id"])["exitCode"] == 0


@pytest.mark.req("M-16", "M-07")
async def test_streaming_yields_output_and_then_the_exit() -> None:
    stream = BashExecutor().execute_with_streaming("echo hi")
    assert [event async for event in stream] == [{"type": "stdout", "data": "hi\n"}, {"type": "exit", "code": 0}]


@pytest.mark.req("M-16", "M-02")
async def test_missing_program_fails_with_127_and_the_message_of_the_shell() -> None:
    got = await BashExecutor().execute({"command": "no-such-program-anywhere"})
    assert (got["success"], got["exit_code"]) == (False, 127)
    assert "command not found" in got["stderr"]


# security


@pytest.mark.req("M-16", "M-09")
@pytest.mark.parametrize("command", ["rm -rf /", "mkfs", "dd if=/dev/zero", ":(){:|:&};:"])
def test_blocked_command_is_unsafe_and_its_pattern_is_named(command: str) -> None:
    expected = {"safe": False, "reason": f"Command contains blocked pattern: {command}"}
    assert BashExecutor().check_safety(command) == expected


@pytest.mark.req("M-16", "M-14")
async def test_cwd_and_env_are_never_parsed_as_shell_text(tmp_path: Path) -> None:
    """A directory or a variable is never parsed as shell text."""
    odd = tmp_path / "$(touch ran); touch ran #'\"`touch ran`"
    odd.mkdir()
    env = {"A": "$(touch ran); `touch ran`"}
    got = await BashExecutor().execute({"command": 'pwd; echo "$A"', "cwd": str(odd), "env": env})
    assert got["stdout"] == f"{odd}\n{env['A']}\n"
    assert list(odd.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == [odd.name]


@pytest.mark.req("M-16", "M-11")
def test_unrestricted_runs_have_memory_and_cpu_limits() -> None:
    """test_guards proves that they are enforced."""
    assert MYCODE.limits["unrestricted"].memory is not None
    assert MYCODE.limits["unrestricted"].cpu is not None


@pytest.mark.req("M-16")
async def test_command_without_other_arguments_runs_in_the_working_directory(tmp_path: Path) -> None:
    got = await Bash("mycode").call({"command": "pwd"}, ToolContext(working_dir=tmp_path))
    assert (got.data["success"], got.data["stdout"]) == (True, f"{tmp_path}\n")
