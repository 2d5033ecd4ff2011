"""The structured content of every tool answer matches the tool's output schema: the SDK's client validates it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client

from nacre.adapters.mcp.server import server_for
from nacre.adapters.mcp.settings import ServerSettings
from nacre.adapters.mcp.tools.tasks_extension import redactor_from, result_from
from nacre.keeper.protocol.task_dir import STATUS
from nacre.profiles import profile_named
from nacre.result import Exited
from nacre.tasks import Tasks
from nacre.types import ToolContext
from tests.adapters.mcp.clients import ASKS, MODES, text_of
from tests.support.fake_keeper import ended_task, status_file, write_file

pytestmark = pytest.mark.mcp

COMMANDS = ("echo hello", "exit 3", "kill -KILL $$", "git push -f", ASKS, "printf '\\377\\0'", "seq 100000", "sleep 60")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["default", "mycode", "tunacode", "phoenix", "yoi", "tachikoma"])
async def test_every_answer_of_every_profile_matches_its_output_schema(name: str, mode: str, tmp_path: Path) -> None:
    settings = ServerSettings(
        profile=profile_named(name), context=ToolContext(working_dir=tmp_path, output_dir=tmp_path), budget=0.5
    )
    async with Client(server_for(settings), mode=mode) as client:
        [tool, *_] = (await client.list_tools()).tools
        for command in COMMANDS:
            result = await client.call_tool(tool.name, {"command": command})  # raises if it does not match
            assert result.structured_content is not None, command
        for task in (await client.call_tool("TaskList", {})).structured_content["tasks"]:
            await client.call_tool("KillShell", {"shell_id": task["id"]})


async def test_structured_task_has_the_notes_that_its_text_has(tmp_path: Path) -> None:
    note = "/w/AGENTS.md is protected: it was made, and has been removed."
    store = tmp_path / "tasks"
    id = ended_task(store, Exited(0))
    write_file(store / id, STATUS, status_file(Exited(0), notes=[note]))
    settings = ServerSettings(context=ToolContext(working_dir=tmp_path, output_dir=store))
    async with Client(server_for(settings)) as client:
        output = await client.call_tool("TaskOutput", {"task_id": id})
        listed = await client.call_tool("TaskList", {"all": True})
        waited = await client.call_tool("TaskWait", {"task_ids": [id]})
    assert note in text_of(output)
    tasks = [
        output.structured_content["task"],
        *listed.structured_content["tasks"],
        *waited.structured_content["tasks"],
    ]
    assert [task["notes"] for task in tasks] == [[note]] * 3


def test_delayed_answer_of_a_call_has_the_notes_of_its_task(tmp_path: Path) -> None:
    id = ended_task(tmp_path, Exited(0))
    write_file(tmp_path / id, STATUS, status_file(Exited(0), notes=["A file was removed."]))
    tasks = Tasks(tmp_path)
    assert result_from(tasks.get(id), tasks, 1000, redactor_from(())).notes == ("A file was removed.",)
