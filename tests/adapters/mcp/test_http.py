"""The server over streamable HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.adapters.mcp.clients import MODES, client_at, start_http_server, text_of
from tests.adapters.mcp.test_wire import REVISIONS
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = pytest.mark.mcp

modes = pytest.mark.parametrize("mode", MODES)
TOKEN = "a-token-of-the-test-4711"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""Headers of a request of the current revision."""


@modes
async def test_command_over_http_reports_progress(mode: str, tmp_path: Path, gate: Gate) -> None:
    said: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        said.append(message)
        gate.open()

    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, _):
        async with client_at(url, TOKEN, mode) as client:
            assert (await client.list_tools()).tools[0].name == "Bash"
            command = f"echo one; {gate.wait}; exit 3"
            result = await client.call_tool("Bash", {"command": command}, progress_callback=hear)
    assert said[0] is not None
    assert said[0].endswith(", 4B: one")
    assert (result.is_error, result.structured_content["exit_code"]) == (False, 3)


@modes
async def test_cancelled_http_call_leaves_no_process(mode: str, tmp_path: Path, life: Lifeline) -> None:
    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, _):
        async with client_at(url, TOKEN, mode) as client:
            command = f"{life.hold} trap '' TERM; (setsid sleep 600 &); sleep 600"
            call = asyncio.create_task(client.call_tool("Bash", {"command": command}))
            await life.wait_until_held()
            call.cancel()
            await life.wait_until_ended()


@modes
async def test_task_can_be_started_read_and_killed_over_http(mode: str, tmp_path: Path, life: Lifeline) -> None:
    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, _):
        async with client_at(url, TOKEN, mode) as client:
            command = f"{life.hold} echo begun; sleep 600"
            started = await client.call_tool("Bash", {"command": command, "mode": "background"})
            task = started.structured_content["task_id"]
            await client.call_tool("TaskWait", {"task_ids": [task], "text": "begun"})
            assert "begun" in text_of(await client.call_tool("TaskOutput", {"task_id": task, "block": False}))
            await client.call_tool("KillShell", {"shell_id": task})
            await life.wait_until_ended()


async def test_fifty_clients_are_served_at_once(tmp_path: Path) -> None:
    async def one(url: str, number: int) -> str:
        async with client_at(url, TOKEN, MODES[number % 2]) as client:
            return text_of(await client.call_tool("Bash", {"command": f"echo {number}"}))

    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, _):
        assert await asyncio.gather(*(one(url, n) for n in range(50))) == [str(n) for n in range(50)]


STRANGERS: tuple[tuple[dict[str, str], int], ...] = (
    ({}, 401),
    ({"Authorization": "Bearer wrong"}, 401),
    ({"Authorization": "Bearer"}, 401),
    ({"Authorization": f"Basic {TOKEN}"}, 401),
    ({"Authorization": f"Bearer {TOKEN}x"}, 401),
    ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 421),
    ({"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1"}, 421),
    ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}, 403),
    ({"Authorization": f"Bearer {TOKEN}", "Origin": "null"}, 403),
    ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://localhost:1"}, 403),
)


async def test_request_with_a_wrong_token_host_or_origin_is_rejected(tmp_path: Path) -> None:
    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, _):
        async with httpx2.AsyncClient() as http:
            for headers, status in STRANGERS:
                for method in ("POST", "GET", "DELETE", "OPTIONS"):
                    answer = await http.request(method, url, headers=headers)
                    assert answer.status_code == status, (method, headers)
                assert (await http.get(url.replace("/mcp", "/other"), headers=headers)).status_code == status, headers


async def test_http_server_listens_on_loopback_only(tmp_path: Path) -> None:
    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, said):
        port = int(url.rpartition(":")[2].partition("/")[0])
        tables = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
        places = {line.split()[1] for line in tables.splitlines() if f":{port:04X} " in line and " 0A " in line}
        assert places == {f"0100007F:{port:04X}"}
        assert TOKEN not in said


async def test_missing_token_is_generated_and_printed(tmp_path: Path) -> None:
    with start_http_server(cwd=tmp_path) as (url, said):
        found = re.search(r"Bearer (\S{40,})", said)
        assert found is not None
        async with client_at(url, found[1], "2026-07-28") as client:
            result = await client.call_tool("Bash", {"command": f"echo {found[1]}"})
    assert text_of(result) == "[secret]"


@pytest.mark.linux
@pytest.mark.parametrize("given", [True, False], ids=["given", "made"])
async def test_commands_find_no_token_in_any_environment_or_command_line(given: bool, tmp_path: Path) -> None:
    """The command searches files: in the answer the token would be masked."""
    token = "the-token-of-this-test-alone-8152" if given else ""
    with start_http_server(cwd=tmp_path, token=token) as (url, said):
        found = re.search(r"Bearer (\S{40,})", said)
        token = token or (found[1] if found else "")
        assert token
        (tmp_path / "token").write_text(token)
        look = "grep -a -l -F -f token /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null"
        commands = (
            "env >own; cat /proc/self/environ >>own",
            f"{look} >seen",
            f"""COPY=$(cat token) bash -c '{look} | grep -c "/$$/environ"' >control""",
        )
        async with client_at(url, token, "2026-07-28") as client:
            for command in commands:
                await client.call_tool("Bash", {"command": command})
    own = (tmp_path / "own").read_text()
    assert "PATH=" in own
    assert token not in own
    assert "NACRE_MCP_TOKEN" not in own
    assert (tmp_path / "control").read_text() == "1\n"  # the search works: it finds the control
    assert (tmp_path / "seen").read_text() == ""


def message_in(answer: httpx2.Response) -> dict[str, Any]:
    """Return the last message, from plain JSON or from a stream of events."""
    answer.raise_for_status()
    data = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
    return dict(json.loads(data[-1] if data else answer.text))


@pytest.mark.parametrize("version", REVISIONS)
async def test_http_server_supports_every_older_protocol_revision(version: str, tmp_path: Path) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, _):
        async with httpx2.AsyncClient(headers=headers, timeout=HANG_TIMEOUT_S) as http:

            async def ask(id: int | None, method: str, **params: Any) -> httpx2.Response:
                message = {"jsonrpc": "2.0", "method": method, "params": params}
                return await http.post(url, json=message if id is None else {**message, "id": id})

            made = await ask(0, "initialize", **client)
            assert message_in(made)["result"]["protocolVersion"] == version
            http.headers["Mcp-Session-Id"] = made.headers["Mcp-Session-Id"]
            http.headers["MCP-Protocol-Version"] = version
            assert (await ask(None, "notifications/initialized")).status_code == 202
            tools = message_in(await ask(1, "tools/list"))["result"]["tools"]
            assert tools[0]["name"] == "Bash"
            run = message_in(await ask(2, "tools/call", name="Bash", arguments={"command": "echo hello"}))
            assert run["result"]["content"] == [{"type": "text", "text": "hello"}]
            missing = message_in(await ask(3, "resources/read", uri="nacre://tasks/bash-00000000/log"))
            assert missing["error"]["code"] == -32002


async def test_lone_surrogate_in_a_command_is_answered_and_nothing_runs(tmp_path: Path) -> None:
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    client = {"protocolVersion": REVISIONS[-1], "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "Bash", "arguments": %b}}'
    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, _):
        async with httpx2.AsyncClient(headers=headers, timeout=HANG_TIMEOUT_S) as http:
            made = await http.post(url, json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})
            http.headers["Mcp-Session-Id"] = made.headers["Mcp-Session-Id"]
            http.headers["MCP-Protocol-Version"] = REVISIONS[-1]
            await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            answer = await http.post(url, content=body % b'{"command": "touch made; echo \\ud800"}')
    result = message_in(answer)["result"]
    assert (result["isError"], result["_meta"]) == (True, {"nacre/error": "bad_text"})
    assert "`command` contains a lone surrogate" in result["content"][0]["text"]
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_killed_http_server_leaves_no_process(number: int, tmp_path: Path, life: Lifeline) -> None:
    pids: list[int] = []
    command = f"{life.hold} (setsid sleep 600 &); sleep 600"
    with start_http_server(cwd=tmp_path, token=TOKEN, pids=pids) as (url, _):
        async with httpx2.AsyncClient(timeout=HANG_TIMEOUT_S) as http:
            params = {"name": "Bash", "arguments": {"command": command}, "_meta": ENVELOPE}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            headers = {
                "Authorization": f"bearer {TOKEN}",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2026-07-28",
                "Mcp-Method": "tools/call",
                "Mcp-Name": "Bash",
            }
            call = asyncio.create_task(http.post(url, json=message, headers=headers))
            await life.wait_until_held()
            os.kill(pids[0], number)
            await life.wait_until_ended()
            await asyncio.wait({call})
            assert call.exception() is not None or call.result() is not None
