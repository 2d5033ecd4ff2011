"""nacre as the sandbox of a deep agent, with LangChain's fake model; and its file operations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

from nacre import ToolContext
from nacre.adapters.deepagents import NacreBackend
from nacre.tasks import Tasks
from tests.adapters.conversation import COMMANDS, TEXTS, project
from tests.adapters.examples import does_what_it_says

pytestmark = pytest.mark.framework


class Model(GenericFakeChatModel):
    def bind_tools(self, *_: Any, **__: Any) -> Model:
        return self


def runs(*commands: str) -> Iterator[AIMessage]:
    for number, command in enumerate(commands):
        yield AIMessage("", tool_calls=[{"name": "execute", "args": {"command": command}, "id": f"call-{number}"}])
    yield AIMessage("done")


async def test_the_conversation_is_what_it_is_everywhere(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    agent = create_deep_agent(Model(messages=runs(*COMMANDS)), backend=NacreBackend(ctx=ctx))
    state = await agent.ainvoke({"messages": [("user", "Look after the project.")]})
    said = [str(message.content) for message in state["messages"] if isinstance(message, ToolMessage)]
    assert said[0].startswith(TEXTS[0])
    assert said[1].startswith(TEXTS[1].partition("\n")[2])
    assert "exit code 1" in said[1]
    assert said[2].startswith(TEXTS[2])
    assert "exit code 126" in said[2]
    assert "started" in said[3].splitlines()
    (task,) = Tasks(ctx.output_dir).list(all=False)
    await Tasks(ctx.output_dir).kill(task.id)


def test_files_are_written_read_edited_listed_and_found(tmp_path: Path) -> None:
    backend = NacreBackend(ctx=ToolContext(working_dir=tmp_path))
    file = str(tmp_path / "a" / "file.txt")
    assert backend.write(file, "one\ntwo\n").error is None
    assert backend.edit(file, "two", "three").error is None
    assert Path(file).read_text() == "one\nthree\n"
    read = backend.read(file)
    assert read.error is None
    assert read.file_data is not None
    assert "three" in read.file_data["content"]
    assert [entry["path"].rstrip("/") for entry in backend.ls(str(tmp_path)).entries or []] == [str(tmp_path / "a")]
    assert [match["line"] for match in backend.grep("three", str(tmp_path)).matches or []] == [2]
    assert backend.glob("**/*.txt", str(tmp_path)).error is None


def test_files_go_up_and_down_as_bytes(tmp_path: Path) -> None:
    backend = NacreBackend(ctx=ToolContext(working_dir=tmp_path))
    file, data = str(tmp_path / "b" / "file"), bytes(range(256)) * 1000
    assert [each.error for each in backend.upload_files([(file, data), (str(tmp_path), b"")])] == [None, "is_directory"]
    found = backend.download_files([file, str(tmp_path / "none"), str(tmp_path)])
    assert [each.content for each in found] == [data, None, None]
    assert [each.error for each in found] == [None, "file_not_found", "is_directory"]


@pytest.mark.linux
def test_a_confined_backend_confines_its_files_too(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    backend = NacreBackend(ctx=ToolContext(working_dir=inside, access="workspace"))
    assert backend.write(str(inside / "file"), "x").error is None
    assert backend.write(str(tmp_path / "file"), "x").error is not None
    assert [each.error for each in backend.upload_files([(str(tmp_path / "file"), b"x")])] == ["permission_denied"]
    assert not (tmp_path / "file").exists()


def test_a_command_that_cannot_be_meant_is_an_output_too(tmp_path: Path) -> None:
    found = NacreBackend(ctx=ToolContext(working_dir=tmp_path)).execute(" ")
    assert (found.exit_code, "empty_command" in found.output) == (125, True)


def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    does_what_it_says("with_deepagents.py", tmp_path)
