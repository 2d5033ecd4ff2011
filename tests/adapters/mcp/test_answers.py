"""The structured content of every tool answer matches the tool's output schema: the SDK's client validates it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client

from nacre.adapters.mcp.server import server_for
from nacre.adapters.mcp.settings import ServerSettings
from nacre.profiles import profile_named
from nacre.types import ToolContext
from tests.adapters.mcp.clients import ASKS, MODES

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
