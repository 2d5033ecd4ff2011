"""The tasks extension: a call that takes long is one call to the model, whatever the client has to do for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result

from tests.adapters.mcp.door import parameters, text_of
from tests.support.lifeline import Gate, Lifeline

pytestmark = pytest.mark.mcp


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
    """As the extension's document has it: poll until there is a result."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, *, cancels: bool = False, gate: Gate | None = None) -> None:
        self.states: list[str] = []
        self._cancels, self._gate = cancels, gate

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
            await asyncio.sleep(0.05)
        self.states.append(state.status)
        return CallToolResult.model_validate(state.result or {"content": []})


async def test_the_client_polls_and_the_model_gets_one_answer(tmp_path: Path, gate: Gate) -> None:
    extension = TaskExtension(gate=gate)
    async with Client(parameters("--budget", "0.3", cwd=tmp_path), mode="2026-07-28", extensions=[extension]) as client:
        await client.list_tools()
        result = await client.call_tool("Bash", {"command": f"echo begun; {gate.wait}; echo over; exit 4"})
    assert text_of(result).splitlines()[:3] == ["[nacre: exit 4]", "begun", "over"]
    assert result.structured_content["exit_code"] == 4
    assert (extension.states[0], extension.states[-1]) == ("working", "completed")


async def test_a_task_that_the_client_cancels_is_ended(tmp_path: Path, life: Lifeline) -> None:
    extension = TaskExtension(cancels=True)
    async with Client(parameters("--budget", "0.3", cwd=tmp_path), mode="2026-07-28", extensions=[extension]) as client:
        await client.list_tools()
        with pytest.raises(RuntimeError, match="structured content"):  # there is no result
            await client.call_tool("Bash", {"command": f"{life.hold} sleep 600"})
        await life.ended()
    assert extension.states == ["working", "cancelled"]


async def test_after_the_time_that_the_model_wanted_to_wait_it_is_told_that_it_goes_on(
    tmp_path: Path, life: Lifeline
) -> None:
    extension = TaskExtension()
    async with Client(parameters("--budget", "0.3", cwd=tmp_path), mode="2026-07-28", extensions=[extension]) as client:
        await client.list_tools()
        result = await client.call_tool("Bash", {"command": f"{life.hold} sleep 600", "timeout_seconds": 1})
        task = result.structured_content["task_id"]
        assert result.structured_content["outcome"]["kind"] == "running"
        await client.call_tool("KillShell", {"shell_id": task})
        await life.ended()


async def test_a_client_without_the_extension_has_no_such_methods(tmp_path: Path) -> None:
    async with Client(parameters(cwd=tmp_path), mode="2026-07-28") as client:
        request = TaskRequest(method="tasks/get", params=TaskParams(task_id="bash-00000000"))
        with pytest.raises(MCPError):
            await client.session.send_request(request, Result)
