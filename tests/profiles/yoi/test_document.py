"""The document's own tests, rewritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.compat.yoi import BashTool, InvalidArgument, ToolOutput, bash_tool
from tests.profiles.yoi.conftest import Execute
from tests.support.quoting import quote


@pytest.mark.req("Y-12")
async def test_simple_command_runs(workspace: Path, outputs: Path) -> None:
    meta, tool = bash_tool(workspace, outputs)
    assert meta.name == "Bash"
    assert await tool.execute(json.dumps({"command": "echo hello"})) == ToolOutput("$ echo hello", "hello\n")


@pytest.mark.req("Y-03")
async def test_stdout_and_stderr_are_merged_in_the_order_of_writing(execute: Execute) -> None:
    command = "echo out; echo err 1>&2; echo out again"
    assert await execute(command) == ToolOutput(f"$ {command}", "out\nerr\nout again\n")


@pytest.mark.req("Y-08")
async def test_exit_code_is_reported_and_silent_command_has_no_content(execute: Execute) -> None:
    assert await execute("exit 7") == ToolOutput("$ exit 7 (exit 7)", None)


@pytest.mark.req("Y-01")
async def test_cd_and_export_do_not_outlast_the_call(execute: Execute, workspace: Path) -> None:
    (workspace / "nested").mkdir()
    await execute(f"cd {quote(workspace)}/nested; export LEFT=behind")
    assert await execute('pwd; echo "${LEFT-unset}"') == ToolOutput(
        '$ pwd; echo "${LEFT-unset}"', f"{workspace}\nunset\n"
    )


@pytest.mark.req("Y-07")
async def test_command_over_its_timeout_is_reported_as_timed_out(execute: Execute) -> None:
    assert await execute("sleep 30", timeout=1) == ToolOutput("$ sleep 30 (timed out after 1s)", None)


@pytest.mark.req("Y-11")
async def test_invalid_json_is_an_invalid_argument(tool: BashTool) -> None:
    with pytest.raises(InvalidArgument, match=r"^invalid Bash input: "):
        await tool.execute("not json")


@pytest.mark.req("Y-04")
async def test_long_output_returns_the_last_lines_and_saves_all_to_a_file(execute: Execute, outputs: Path) -> None:
    output = await execute("for i in $(seq 1 200); do echo line $i; done")
    everything = "".join(f"line {number}\n" for number in range(1, 201))
    (file,) = outputs.iterdir()
    assert file.read_text() == everything
    header = f"[showing last 80 of 200 lines — full output ({len(everything)} bytes) at {file}]\n"
    assert output.content == header + "".join(f"line {number}\n" for number in range(121, 201))


@pytest.mark.req("Y-06")
async def test_one_wide_line_is_saved_to_a_file(execute: Execute, outputs: Path) -> None:
    output = await execute("printf 'x%.0s' {1..20480}")
    (file,) = outputs.iterdir()
    header = f"[showing last 80 of 1 lines — full output (20480 bytes) at {file}]\n"
    assert output.content == header + "x" * 20480
    assert file.read_text() == "x" * 20480


@pytest.mark.req("Y-09")
async def test_background_job_is_waited_for(execute: Execute) -> None:
    command = "(sleep 0.05; echo bg) &"
    assert await execute(command, timeout=5) == ToolOutput(f"$ {command}", "bg\n")


@pytest.mark.req("Y-10")
async def test_files_are_removed_when_the_tool_is_closed(execute: Execute, tool: BashTool, outputs: Path) -> None:
    await execute("seq 1 200")
    (file,) = outputs.iterdir()
    tool.close()
    assert not file.exists()
