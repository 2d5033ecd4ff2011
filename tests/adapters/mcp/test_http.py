"""The server over streamable HTTP."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx2
import pytest

from tests.adapters.mcp.door import MODES, client_at, listening, text_of
from tests.support.lifeline import Gate, Lifeline

pytestmark = pytest.mark.mcp

modes = pytest.mark.parametrize("mode", MODES)
TOKEN = "a-token-of-the-test-4711"


@modes
async def test_a_command_runs_with_progress(mode: str, tmp_path: Path, gate: Gate) -> None:
    said: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        said.append(message)
        gate.open()

    with listening(cwd=tmp_path, token=TOKEN) as (url, _):
        async with client_at(url, TOKEN, mode) as client:
            assert (await client.list_tools()).tools[0].name == "Bash"
            command = f"echo one; {gate.wait}; exit 3"
            result = await client.call_tool("Bash", {"command": command}, progress_callback=hear)
    assert said[0] is not None
    assert said[0].endswith(", 4B: one")
    assert (result.is_error, result.structured_content["exit_code"]) == (False, 3)


@modes
async def test_a_cancelled_call_leaves_nothing_alive(mode: str, tmp_path: Path, life: Lifeline) -> None:
    with listening(cwd=tmp_path, token=TOKEN) as (url, _):
        async with client_at(url, TOKEN, mode) as client:
            command = f"{life.hold} trap '' TERM; (setsid sleep 600 &); sleep 600"
            call = asyncio.create_task(client.call_tool("Bash", {"command": command}))
            await life.held()
            call.cancel()
            await life.ended()


@modes
async def test_a_task_is_started_read_and_killed(mode: str, tmp_path: Path, life: Lifeline) -> None:
    with listening(cwd=tmp_path, token=TOKEN) as (url, _):
        async with client_at(url, TOKEN, mode) as client:
            command = f"{life.hold} echo begun; sleep 600"
            started = await client.call_tool("Bash", {"command": command, "mode": "background"})
            task = started.structured_content["task_id"]
            await client.call_tool("TaskWait", {"task_ids": [task], "text": "begun"})
            assert "begun" in text_of(await client.call_tool("TaskOutput", {"task_id": task, "block": False}))
            await client.call_tool("KillShell", {"shell_id": task})
            await life.ended()


async def test_fifty_clients_are_served_at_once(tmp_path: Path) -> None:
    async def one(url: str, number: int) -> str:
        async with client_at(url, TOKEN, MODES[number % 2]) as client:
            return text_of(await client.call_tool("Bash", {"command": f"echo {number}"}))

    with listening(cwd=tmp_path, token=TOKEN) as (url, _):
        assert await asyncio.gather(*(one(url, n) for n in range(50))) == [str(n) for n in range(50)]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "null"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://localhost:1"}, 403),
    ],
)
async def test_who_may_not_come_in_is_turned_away(headers: dict[str, str], status: int, tmp_path: Path) -> None:
    with listening(cwd=tmp_path, token=TOKEN) as (url, _):
        async with httpx2.AsyncClient() as http:
            for method in ("POST", "GET", "DELETE", "OPTIONS"):
                assert (await http.request(method, url, headers=headers)).status_code == status
            assert (await http.get(url.replace("/mcp", "/other"), headers=headers)).status_code == status


async def test_it_listens_on_loopback_alone(tmp_path: Path) -> None:
    with listening(cwd=tmp_path, token=TOKEN) as (url, said):
        port = int(url.rpartition(":")[2].partition("/")[0])
        tables = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
        places = {line.split()[1] for line in tables.splitlines() if f":{port:04X} " in line and " 0A " in line}
        assert places == {f"0100007F:{port:04X}"}
        assert TOKEN not in said


async def test_a_token_is_made_and_printed_where_none_is_given(tmp_path: Path) -> None:
    with listening(cwd=tmp_path) as (url, said):
        found = re.search(r"Bearer (\S{40,})", said)
        assert found is not None
        async with client_at(url, found[1], "2026-07-28") as client:
            result = await client.call_tool("Bash", {"command": f"env | grep -c MCP_TOKEN; echo {found[1]}"})
    assert text_of(result).splitlines()[-2:] != ["1", found[1]]
    assert found[1] not in text_of(result)
