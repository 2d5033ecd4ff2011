"""The tasks extension: a long call is one call for the model, whatever the client does to poll for it.

test_conformance also runs the protocol's own conformance suite for the extension.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result

from nacre.adapters.mcp.tools.tasks_extension import Deadlines
from nacre.tasks import Tasks
from tests.adapters.mcp.clients import Raw, parameters, raw, text_of
from tests.support.lifeline import Gate, Lifeline

pytestmark = pytest.mark.mcp

SOURCE = """
The extension's document: https://github.com/modelcontextprotocol/ext-tasks, specification/2026-07-28/tasks.md at commit
fb36f4006b7dec281d822571f137fadbacae963e, read on 2026-11-16.
"""
HANDLE = {"resultType", "taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"}
"""Fields of `CreateTaskResult = Result & Task`: flat, with no `result`, `error` or `inputRequests` yet."""
ACKNOWLEDGED = {"resultType": "complete"}
"""The answer to `tasks/cancel` and `tasks/update`, without data of the task."""
MISSING_CAPABILITY, INVALID_PARAMS, METHOD_NOT_FOUND = -32021, -32602, -32601
EXTENSION = "io.modelcontextprotocol/tasks"


class TaskHandle(Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    poll_interval_ms: int | None = None


class TaskParams(RequestParams):
    task_id: str


class TaskState(Result):
    task_id: str
    status: str
    result: dict[str, Any] | None = None
    result_type: str = "complete"


class TaskRequest(Request[TaskParams, str]):
    name_param = "taskId"


class TaskExtension(ClientExtension):
    """Client extension that polls for the result. Between two polls it waits at the server, with a tool call."""

    identifier = EXTENSION

    def __init__(self, *, cancels: bool = False, gate: Gate | None = None, pause: float = 20) -> None:
        self.states: list[str] = []
        self._cancels, self._gate, self._pause = cancels, gate, pause

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=TaskHandle, resolve=self._resolve)]

    async def _resolve(self, handle: TaskHandle, ctx: ClaimContext) -> CallToolResult:
        self.states.append(handle.status)

        async def ask(method: str, kind: type[Any]) -> Any:
            return await ctx.session.send_request(
                TaskRequest(method=method, params=TaskParams(task_id=handle.task_id)), kind
            )

        if self._cancels:
            await ask("tasks/cancel", Result)
        while (state := await ask("tasks/get", TaskState)).status == "working":
            self.states.append(state.status)
            if self._gate is not None:
                self._gate.open()
            await ctx.session.call_tool("TaskWait", {"task_ids": [handle.task_id], "timeout": self._pause})
        self.states.append(state.status)
        return CallToolResult.model_validate(state.result or {"content": []})


async def test_client_polls_a_long_call_and_the_model_gets_one_answer(tmp_path: Path, gate: Gate) -> None:
    extension = TaskExtension(gate=gate)
    async with Client(parameters("--budget", "0.5", cwd=tmp_path), mode="2026-07-28", extensions=[extension]) as client:
        await client.list_tools()
        result = await client.call_tool("Bash", {"command": f"echo begun; {gate.wait}; echo over; exit 4"})
    assert text_of(result).splitlines()[:3] == ["[nacre: exit 4]", "begun", "over"]
    assert result.structured_content["exit_code"] == 4
    assert (extension.states[:2], extension.states[-1]) == (["working", "working"], "completed")


async def test_task_cancelled_by_the_client_is_killed(tmp_path: Path, life: Lifeline) -> None:
    extension = TaskExtension(cancels=True)
    async with Client(parameters("--budget", "0.3", cwd=tmp_path), mode="2026-07-28", extensions=[extension]) as client:
        await client.list_tools()
        with pytest.raises(RuntimeError, match="structured content"):  # there is no result yet
            await client.call_tool("Bash", {"command": f"{life.hold} sleep 600"})
        await life.wait_until_ended()
    assert extension.states == ["working", "cancelled"]


async def test_command_that_outlasts_its_wait_is_answered_as_still_running(tmp_path: Path, life: Lifeline) -> None:
    extension = TaskExtension(pause=0.3)
    async with Client(parameters("--budget", "0.3", cwd=tmp_path), mode="2026-07-28", extensions=[extension]) as client:
        await client.list_tools()
        result = await client.call_tool("Bash", {"command": f"{life.hold} sleep 600", "timeout_seconds": 1})
        task = result.structured_content["task_id"]
        assert result.structured_content["outcome"]["kind"] == "running"
        await client.call_tool("KillShell", {"shell_id": task})
        await life.wait_until_ended()


@contextmanager
def connect_extended(*options: str, cwd: Path, env: dict[str, str] | None = None) -> Iterator[ExtendedClient]:
    with raw(*options, cwd=cwd, env=env) as client:
        yield ExtendedClient(client)


class ExtendedClient:
    """Client for requests of the current revision, each with the client's capabilities."""

    def __init__(self, client: Raw) -> None:
        self._client, self._id = client, 0

    def __call__(self, method: str, *, declares: bool = True, **params: Any) -> dict[str, Any]:
        """Return the result or the error."""
        self._id += 1
        capabilities: dict[str, Any] = {"extensions": {EXTENSION: {}}} if declares else {}
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }
        self._client.send({"id": self._id, "method": method, "params": {**params, "_meta": meta}})
        answer = self._client.answer(self._id)
        found = dict(answer["result"] if "result" in answer else answer["error"])
        found.pop("_meta", None)
        return found

    def handle(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self("tools/call", name="Bash", arguments={"command": command, **arguments})


def test_task_extension_messages_match_the_document(tmp_path: Path, gate: Gate, life: Lifeline) -> None:
    with connect_extended("--budget", "0.5", cwd=tmp_path) as ask:
        capabilities = ask("server/discover")["capabilities"]
        assert capabilities["extensions"] == {EXTENSION: {}}
        assert "tasks" not in capabilities

        handle = ask.handle(f"echo begun; {gate.wait}; exit 3")
        assert set(handle) == HANDLE
        assert (handle["resultType"], handle["status"], handle["ttlMs"]) == ("task", "working", None)
        assert isinstance(handle["pollIntervalMs"], int)
        for moment in (handle["createdAt"], handle["lastUpdatedAt"]):
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", moment)

        id = handle["taskId"]
        working = ask("tasks/get", taskId=id)
        assert (set(working), working["resultType"]) == (HANDLE, "complete")
        assert ask("tasks/update", taskId=id, inputResponses={"never-asked": {"action": "accept"}}) == ACKNOWLEDGED

        gate.open()
        ask("tools/call", name="TaskWait", arguments={"task_ids": [id]})
        over = ask("tasks/get", taskId=id)
        assert (set(over), over["status"], over["resultType"]) == ({*HANDLE, "result"}, "completed", "complete")
        assert over["result"]["structuredContent"]["exit_code"] == 3
        assert over["result"]["isError"] is False
        assert ask("tasks/cancel", taskId=id) == ACKNOWLEDGED  # although there is nothing to cancel
        assert ask("tasks/get", taskId=id)["status"] == "completed"

        other = ask.handle(f"{life.hold} sleep 600")["taskId"]
        assert ask("tasks/cancel", taskId=other) == ACKNOWLEDGED
        life.wait_over()
        cancelled = ask("tasks/get", taskId=other)
        assert (set(cancelled), cancelled["status"]) == (HANDLE, "cancelled")


def test_invalid_task_requests_get_the_error_codes_of_the_document(tmp_path: Path, life: Lifeline) -> None:
    with connect_extended("--budget", "0.5", cwd=tmp_path) as ask:
        id = ask.handle(f"{life.hold} sleep 600")["taskId"]
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            refused = ask(method, declares=False, taskId=id, inputResponses={})
            assert refused["code"] == MISSING_CAPABILITY
            assert refused["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            for unknown in ("bash-00000000", id[:-1], "../x", ""):  # a prefix is enough elsewhere, but not here
                assert ask(method, taskId=unknown, inputResponses={})["code"] == INVALID_PARAMS
            assert ask(method, inputResponses={})["code"] == INVALID_PARAMS
        for method in ("tasks/list", "tasks/result"):  # methods of the older, experimental tasks
            assert ask(method, taskId=id)["code"] == METHOD_NOT_FOUND
        assert not life.over
        ask("tasks/cancel", taskId=id)
        life.wait_over()


def test_client_without_the_extension_gets_an_answer_with_the_task_id(tmp_path: Path, life: Lifeline) -> None:
    with connect_extended("--budget", "0.5", cwd=tmp_path) as ask:
        arguments = {"command": f"{life.hold} sleep 600"}
        answer = ask("tools/call", declares=False, name="Bash", arguments=arguments)
        assert answer["resultType"] == "complete"
        ask("tasks/cancel", taskId=answer["structuredContent"]["task_id"])
        life.wait_over()


def test_secret_in_task_output_is_masked(tmp_path: Path, gate: Gate) -> None:
    with connect_extended("--budget", "0.5", cwd=tmp_path, env={"SERVICE_TOKEN": "tok-4711-abcdefghij"}) as ask:
        id = ask.handle(f"echo 'tok-4711-''abcdefghij'; {gate.wait}")["taskId"]
        gate.open()
        ask("tools/call", name="TaskWait", arguments={"task_ids": [id]})
        assert ask("tasks/get", taskId=id)["result"]["content"][0]["text"] == "[secret]"


async def test_deadlines_of_tasks_that_do_not_run_are_dropped(tmp_path: Path) -> None:
    tasks, deadlines = Tasks(tmp_path), Deadlines()
    for number in range(3):
        deadlines.keep(f"bash-0000000{number}", 5.0, tasks)
        assert deadlines.deadline_of(f"bash-0000000{number}") == 5.0
        assert len(deadlines) == 1
    deadlines.keep("bash-00000009", float("inf"), tasks)
    assert len(deadlines) == 0
