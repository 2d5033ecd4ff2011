"""Three kinds of errors: the model's, the tool's own, the system's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre import NacreError, ToolContext
from nacre.compat.yoi import BashTool, ExecutionFailed, Internal, InvalidArgument, ToolError, _error, bash_tool
from nacre.profiles.yoi import YOI
from nacre.result import Lost, NotStarted, Outcome, Result
from nacre.views.answers import answer


@pytest.mark.req("Y-14")
def test_tool_error_has_three_subclasses() -> None:
    assert {kind.__name__ for kind in ToolError.__subclasses__()} == {"InvalidArgument", "Internal", "ExecutionFailed"}
    assert issubclass(ToolError, NacreError)


@pytest.mark.req("Y-11", "Y-14")
@pytest.mark.parametrize(
    "given",
    [
        "",
        "not json",
        "{",
        "[]",
        "null",
        '"echo"',
        "{}",
        '{"timeout": 5}',
        '{"command": null}',
        '{"command": 7}',
        '{"command": ["echo"]}',
        '{"command": ""}',
        '{"command": " \\n"}',
        '{"command": "echo \\u0000"}',
        '{"command": "echo \\ud800"}',
        "[" * 100_000,
    ],
    ids=[
        "empty", "words", "half", "list", "null", "text", "nothing", "no-command", "null-command", "number", "several",
        "empty-command", "blank", "nul", "surrogate", "deep",
    ],
)  # fmt: skip
async def test_invalid_input_of_the_model_raises_invalid_argument(tool: BashTool, given: str) -> None:
    with pytest.raises(InvalidArgument, match=r"^invalid Bash input: "):
        await tool.execute(given)


@pytest.mark.req("Y-11")
async def test_unknown_argument_is_ignored(tool: BashTool) -> None:
    output = await tool.execute('{"command": "echo fine", "description": "Say it", "cwd": "/"}')
    assert (output.summary, output.content) == ("$ echo fine", "fine\n")


@pytest.mark.req("Y-14")
async def test_output_dir_that_cannot_be_created_raises_internal(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with BashTool(workspace, place) as tool:
            with pytest.raises(Internal, match=f"^create bash output dir {place}: "):
                await tool.execute('{"command": "touch ran"}')
            with pytest.raises(InvalidArgument):
                await tool.execute("not json")
    assert os.listdir(workspace) == []


@pytest.mark.req("Y-14")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_unwritable_output_dir_raises_internal(workspace: Path, outputs: Path) -> None:
    outputs.mkdir(mode=0o500)
    with BashTool(workspace, outputs) as tool, pytest.raises(Internal, match=r"^output tempfile: "):
        await tool.execute('{"command": "touch ran"}')
    assert os.listdir(workspace) == []


@pytest.mark.req("Y-14")
async def test_invalid_context_raises_internal(workspace: Path, outputs: Path) -> None:
    with (
        BashTool(workspace, outputs, context=ToolContext(strict=True)) as tool,
        pytest.raises(Internal, match="strict"),
    ):
        await tool.execute('{"command": "touch ran"}')
    assert os.listdir(workspace) == []


@pytest.mark.req("Y-14")
async def test_missing_workspace_raises_execution_failed(tmp_path: Path, outputs: Path) -> None:
    with BashTool(tmp_path / "gone", outputs) as tool, pytest.raises(ExecutionFailed, match=r"^spawn bash: .*gone"):
        await tool.execute('{"command": "true"}')


@pytest.mark.req("Y-12", "Y-14")
async def test_tool_of_a_missing_workspace_fails_only_when_it_is_used(
    workspace: Path, tmp_path: Path, outputs: Path
) -> None:
    meta, tool = bash_tool(tmp_path / "gone", outputs)
    assert meta == BashTool(workspace, outputs).meta
    with tool, pytest.raises(ExecutionFailed, match=r"^spawn bash: .*gone"):
        await tool.execute('{"command": "true"}')


@pytest.mark.req("Y-14")
async def test_missing_bash_raises_execution_failed(
    tool: BashTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExecutionFailed, match=r"^spawn bash: bash was not found on PATH"):
        await tool.execute('{"command": "true"}')


@pytest.mark.req("Y-14")
@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (NotStarted("no memory"), "spawn bash: no memory"),
        (Lost("its keeper was killed"), "bash wait: its keeper was killed"),
    ],
    ids=["not-started", "lost"],
)
def test_not_started_and_lost_become_execution_failed(outcome: Outcome, said: str) -> None:
    error = _error(answer(Result(command="x", cwd="/", outcome=outcome), YOI.view))
    assert (type(error), str(error)) == (ExecutionFailed, said)
