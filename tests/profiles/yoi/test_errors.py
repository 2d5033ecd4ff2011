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
def test_there_are_three() -> None:
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
async def test_what_a_model_got_wrong_is_an_invalid_argument(tool: BashTool, given: str) -> None:
    with pytest.raises(InvalidArgument, match=r"^invalid Bash input: "):
        await tool.execute(given)


@pytest.mark.req("Y-11")
async def test_a_key_that_is_not_known_is_ignored(tool: BashTool) -> None:
    output = await tool.execute('{"command": "echo fine", "description": "Say it", "cwd": "/"}')
    assert (output.summary, output.content) == ("$ echo fine", "fine\n")


@pytest.mark.req("Y-14")
async def test_no_place_for_the_output_is_internal_and_nothing_is_run(workspace: Path, tmp_path: Path) -> None:
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
async def test_a_place_that_may_not_be_written_is_internal(workspace: Path, outputs: Path) -> None:
    outputs.mkdir(mode=0o500)
    with BashTool(workspace, outputs) as tool, pytest.raises(Internal, match=r"^output tempfile: "):
        await tool.execute('{"command": "touch ran"}')
    assert os.listdir(workspace) == []


@pytest.mark.req("Y-14")
async def test_a_context_that_cannot_be_meant_is_internal(workspace: Path, outputs: Path) -> None:
    with (
        BashTool(workspace, outputs, context=ToolContext(strict=True)) as tool,
        pytest.raises(Internal, match="strict"),
    ):
        await tool.execute('{"command": "touch ran"}')
    assert os.listdir(workspace) == []


@pytest.mark.req("Y-14")
async def test_a_workspace_that_is_gone_is_a_failed_execution(tmp_path: Path, outputs: Path) -> None:
    with BashTool(tmp_path / "gone", outputs) as tool, pytest.raises(ExecutionFailed, match=r"^spawn bash: .*gone"):
        await tool.execute('{"command": "true"}')


@pytest.mark.req("Y-12", "Y-14")
async def test_a_tool_of_a_workspace_that_is_gone_is_described_and_fails_when_it_is_used(
    workspace: Path, tmp_path: Path, outputs: Path
) -> None:
    meta, tool = bash_tool(tmp_path / "gone", outputs)
    assert meta == BashTool(workspace, outputs).meta
    with tool, pytest.raises(ExecutionFailed, match=r"^spawn bash: .*gone"):
        await tool.execute('{"command": "true"}')


@pytest.mark.req("Y-14")
async def test_without_bash_the_execution_fails(
    tool: BashTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExecutionFailed, match=r"^spawn bash: There is no bash on PATH"):
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
def test_what_the_system_would_not_do_is_a_failed_execution(outcome: Outcome, said: str) -> None:
    error = _error(answer(Result(command="x", cwd="/", outcome=outcome), YOI.view))
    assert (type(error), str(error)) == (ExecutionFailed, said)
