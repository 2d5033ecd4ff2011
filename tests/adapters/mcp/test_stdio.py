"""The server over stdio, in its own process, with the SDK's own client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import ElicitResult, ErrorData, TextResourceContents

from tests.adapters.mcp.clients import ASKS, MODES, parameters, text_of
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, until

pytestmark = pytest.mark.mcp

modes = pytest.mark.parametrize("mode", MODES)


@modes
async def test_tools_are_listed_with_schemas_and_annotations(mode: str, tmp_path: Path) -> None:
    async with Client(parameters(cwd=tmp_path), mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["Bash", "TaskOutput", "KillShell", "TaskList", "TaskWait", "CheckCommand"]
    assert all(tool.output_schema and tool.annotations and tool.description for tool in tools.values())
    assert tools["Bash"].input_schema["required"] == ["command"]
    about = tools["Bash"].description or ""
    assert str(tmp_path) in about
    assert "within 45 seconds" in about


@pytest.mark.linux
@pytest.mark.parametrize(
    ("access", "hints"),
    [
        ("unrestricted", (False, True, True)),
        ("workspace", (False, True, False)),
        ("restricted", (True, False, False)),
    ],
)
async def test_tool_hints_follow_the_access_mode(access: str, hints: tuple[bool, bool, bool], tmp_path: Path) -> None:
    async with Client(parameters("--access", access, cwd=tmp_path)) as client:
        [bash, *_] = (await client.list_tools()).tools
    said = bash.annotations
    assert said is not None
    assert (said.read_only_hint, said.destructive_hint, said.open_world_hint) == hints


@pytest.mark.linux
async def test_restricted_server_blocks_writes(tmp_path: Path) -> None:
    async with Client(parameters("--access", "restricted", cwd=tmp_path)) as client:
        result = await client.call_tool("Bash", {"command": "touch here"})
    assert "Blocked by access='restricted'" in text_of(result)
    assert list(tmp_path.iterdir()) == []


@modes
async def test_failing_command_is_not_an_error_of_the_call(mode: str, tmp_path: Path) -> None:
    async with Client(parameters(cwd=tmp_path), mode=mode) as client:
        result = await client.call_tool("Bash", {"command": "echo hello; exit 3"})
    assert not result.is_error
    assert text_of(result).splitlines() == ["[nacre: exit 3]", "hello"]
    data = result.structured_content
    assert (data["exit_code"], data["ok"], data["outcome"]) == (3, False, {"kind": "exited", "code": 3})


@modes
async def test_invalid_call_is_an_error_with_a_code(mode: str, tmp_path: Path) -> None:
    async with Client(parameters(cwd=tmp_path), mode=mode) as client:
        wrong = await client.call_tool("Bash", {"command": "ls", "timeout": 30})
        missing = await client.call_tool("TaskOutput", {"task_id": "bash-00000000"})
        nothing = await client.call_tool("TaskWait", {})
        two = await client.call_tool("TaskWait", {"task_ids": ["bash-00000000"], "text": "x", "port": 1})
        with pytest.raises(MCPError, match="Unknown tool: 'Bush'"):
            await client.call_tool("Bush", {"command": "ls"})
    assert text_of(wrong).startswith("Error (unknown_argument): Unknown argument: 'timeout'.")
    assert text_of(missing).startswith("Error (no_such_task)")
    assert text_of(nothing).startswith("Error (bad_task_ids)")
    assert text_of(two).startswith("Error (bad_until)")
    for result in (wrong, missing, nothing, two):
        assert result.is_error
        assert result.structured_content is None  # clients validate it against the schema
        assert result.meta is not None
        assert text_of(result).startswith(f"Error ({result.meta['nacre/error']})")


@modes
async def test_progress_shows_the_last_line_while_a_command_runs(mode: str, tmp_path: Path, gate: Gate) -> None:
    said: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        said.append((progress, message))
        if message and message.endswith(", 11B: second") and len(said) == 1:
            gate.open()

    async with Client(parameters(cwd=tmp_path), mode=mode) as client:
        command = f"echo one; echo second; {gate.wait}; echo done"
        result = await client.call_tool("Bash", {"command": command}, progress_callback=hear)
    assert text_of(result).endswith("one\nsecond\ndone")
    assert said[0][1] is not None
    assert [at for at, _ in said] == sorted({at for at, _ in said})


@pytest.mark.parametrize(
    ("secret", "printed"),
    [
        ("tok-4711-abcdefghij", "printf 'tok-4711-'; printf 'abcdefghij\\n'"),
        ("one-1\ntwo-2\nabcdefghij\nfour", "printf 'one-1\\ntwo-2\\nabcdefghij\\n'"),
        ("one-1\ntwo-2\nabcdefghij\nfour", "printf 'one-1\\ntwo-2\\nabcdefghij\\nfour'; printf '\\r\\n'"),
    ],
    ids=["one line", "of several lines the first", "of several lines all"],
)
async def test_progress_shows_no_secret(secret: str, printed: str, tmp_path: Path, gate: Gate) -> None:
    server = parameters(cwd=tmp_path, env={"SERVICE_TOKEN": secret})
    said: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or "")
        gate.open()

    async with Client(server, mode="legacy") as client:
        command = f"{printed}; {gate.wait}"
        await client.call_tool("Bash", {"command": command}, progress_callback=hear)
    assert "[secret]" in said[0]
    assert "abcdefghij" not in "".join(said)


@modes
async def test_cancelled_stdio_call_leaves_no_process(mode: str, tmp_path: Path, life: Lifeline) -> None:
    async with Client(parameters(cwd=tmp_path), mode=mode) as client:
        command = f"{life.hold} trap '' TERM; (setsid sleep 600 &); sleep 600"
        call = asyncio.create_task(client.call_tool("Bash", {"command": command}))
        await life.wait_until_held()
        call.cancel()
        await life.wait_until_ended()
        assert not (await client.call_tool("Bash", {"command": "true"})).is_error
        tasks = await client.call_tool("TaskList", {})
    assert tasks.structured_content["tasks"] == []


@modes
async def test_call_over_the_budget_is_answered_and_becomes_a_task(
    mode: str, tmp_path: Path, gate: Gate, life: Lifeline
) -> None:
    async with Client(parameters("--budget", "0.5", cwd=tmp_path), mode=mode) as client:
        command = f"{life.hold} echo begun; {gate.wait}; echo over; exit 4"
        result = await client.call_tool("Bash", {"command": command, "timeout_seconds": 600})
        assert result.structured_content["outcome"]["promoted"]
        task = result.structured_content["task_id"]
        still = await client.call_tool("TaskOutput", {"task_id": task, "timeout": 600})
        assert still.structured_content["task"]["state"] == "running"
        gate.open()
        await life.wait_until_ended()
        over = await client.call_tool("TaskOutput", {"task_id": task, "block": False})
    assert "exited with 4" in text_of(over)
    assert "begun\nover" in text_of(over)
    assert over.structured_content["task"]["exit_code"] == 4


@modes
async def test_task_can_be_started_listed_read_awaited_and_killed(mode: str, tmp_path: Path, life: Lifeline) -> None:
    async with Client(parameters(cwd=tmp_path), mode=mode) as client:
        command = f"{life.hold} echo listening on 80; sleep 600"
        started = await client.call_tool("Bash", {"command": command, "mode": "background"})
        task = started.structured_content["task_id"]
        waited = await client.call_tool("TaskWait", {"task_ids": [task], "text": "listening on"})
        listed = await client.call_tool("TaskList", {})
        read = await client.call_tool("TaskOutput", {"task_id": task, "block": False})
        logs = await client.list_resources()
        [log] = (await client.read_resource(f"nacre://tasks/{task}/log")).contents
        killed = await client.call_tool("KillShell", {"shell_id": task})
        await life.wait_until_ended()
        ended = await client.call_tool("TaskWait", {"task_ids": [task], "port": 1})
    assert waited.structured_content["match"] == {task: "listening on 80"}
    assert [each["id"] for each in listed.structured_content["tasks"]] == [task]
    assert "listening on 80" in text_of(read)
    assert f"nacre://tasks/{task}/log" in [str(each.uri) for each in logs.resources]
    assert isinstance(log, TextResourceContents)
    assert log.text == "listening on 80\n"
    assert killed.structured_content["task"]["state"] == "ended"
    assert ended.structured_content["ended"] == [task]


@pytest.mark.linux
@modes
async def test_removing_the_home_directory_is_refused_with_the_reason(mode: str, tmp_path: Path) -> None:
    async with Client(parameters("--access", "restricted", cwd=tmp_path), mode=mode) as client:  # in case it is run
        result = await client.call_tool("Bash", {"command": "rm -rf ~"})
        verdict = await client.call_tool("CheckCommand", {"command": "rm -rf ~"})
        harmless = await client.call_tool("CheckCommand", {"command": "ls"})
    assert not result.is_error
    assert result.structured_content["outcome"]["rule"] == "rm-root-or-home"
    assert "would delete" in text_of(result)
    assert verdict.structured_content["decision"] == "refuse"
    assert text_of(verdict).startswith("refuse (rm-root-or-home): ")
    assert text_of(harmless) == "allow"


@modes
@pytest.mark.parametrize(("action", "said"), [("accept", "not a git repository"), ("decline", "asked and refused")])
async def test_approval_is_requested_from_the_person_at_the_client(
    mode: str, action: Any, said: str, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=action, content={} if action == "accept" else None)

    async with Client(parameters(cwd=tmp_path), mode=mode, elicitation_callback=elicit) as client:
        result = await client.call_tool("Bash", {"command": ASKS})
    assert said in text_of(result)
    [question] = asked
    assert ASKS in question
    assert str(tmp_path) in question


async def test_failed_elicitation_is_an_error_and_nothing_runs(tmp_path: Path) -> None:
    async def elicit(context: Any, params: Any) -> ErrorData:
        return ErrorData(code=-32603, message="the window is closed")

    async with Client(parameters(cwd=tmp_path), mode="legacy", elicitation_callback=elicit) as client:
        result = await client.call_tool("Bash", {"command": f"touch it; {ASKS}"})
    assert result.is_error
    assert text_of(result).startswith("Error (not_asked): ")
    assert "the window is closed" in text_of(result)
    assert "Nothing was run." in text_of(result)
    assert list(tmp_path.iterdir()) == []


@modes
async def test_client_without_elicitation_gets_a_refusal(mode: str, tmp_path: Path) -> None:
    async with Client(parameters(cwd=tmp_path), mode=mode) as client:
        result = await client.call_tool("Bash", {"command": ASKS})
    assert not result.is_error
    assert result.structured_content["outcome"]["kind"] == "refused"
    assert "needs approval, and no person was asked" in text_of(result)


async def test_call_cancelled_during_elicitation_runs_nothing(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with Client(parameters(cwd=tmp_path), mode="legacy", elicitation_callback=elicit) as client:
        call = asyncio.create_task(client.call_tool("Bash", {"command": f"touch it; {ASKS}"}))
        await asyncio.wait_for(asked.wait(), HANG_TIMEOUT_S)
        call.cancel()
        assert not (await client.call_tool("Bash", {"command": "true"})).is_error
    assert list(tmp_path.iterdir()) == []


async def test_command_can_start_only_in_allowed_directories(tmp_path: Path) -> None:
    place = tmp_path / "in"
    place.mkdir()
    async with Client(parameters("--cwd", str(place), "--allow", str(place), cwd=tmp_path)) as client:
        inside = await client.call_tool("Bash", {"command": "pwd"})
        outside = await client.call_tool("Bash", {"command": "pwd", "cwd": ".."})
    assert text_of(inside) == str(place)
    assert text_of(outside).startswith("Error (path_not_allowed)")


async def test_tasks_outlive_the_server(tmp_path: Path, life: Lifeline) -> None:
    async with Client(parameters(cwd=tmp_path)) as client:
        started = await client.call_tool("Bash", {"command": f"{life.hold} sleep 600", "mode": "background"})
        task = started.structured_content["task_id"]
        await life.wait_until_held()
    async with Client(parameters(cwd=tmp_path)) as client:
        assert not life.over
        killed = await client.call_tool("KillShell", {"shell_id": task})
    assert not killed.is_error
    await life.wait_until_ended()


async def test_fifty_calls_at_once_are_all_answered(tmp_path: Path) -> None:
    async with Client(parameters(cwd=tmp_path)) as client:
        calls = [client.call_tool("Bash", {"command": f"echo {n}"}) for n in range(50)]
        answers = await asyncio.gather(*calls)
    assert [text_of(answer) for answer in answers] == [str(n) for n in range(50)]


async def test_closing_the_client_kills_its_commands(tmp_path: Path, life: Lifeline) -> None:
    """Closing the client kills the commands that it had started."""
    async with Client(parameters(cwd=tmp_path), mode="legacy") as client:
        call = asyncio.create_task(client.call_tool("Bash", {"command": f"{life.hold} sleep 600"}))
        await life.wait_until_held()
    with pytest.raises((MCPError, asyncio.CancelledError)):
        await call
    await until(lambda: life.over, "the command to end")
