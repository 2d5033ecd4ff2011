"""The tasks extension of the protocol (io.modelcontextprotocol/tasks, revision 2026-07-28), for clients that have it.

A call that takes longer than the budget is answered with a handle. The client polls `tasks/get` until there is a
result, so that the model sees one answer. The handle is the ID of a nacre task: it outlives this server, and another
server can answer for it (without knowing how long the model wanted to wait). Clients without the extension get an
answer that names the task. Optional parts that are not implemented: `notifications/tasks`, and tasks that request
input.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from mcp import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import HEADER_MISMATCH, INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY, RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from nacre.adapters.mcp.settings import ServerSettings
from nacre.adapters.mcp.tools.results import result_of
from nacre.base.units import describe_duration
from nacre.environment import host_environment
from nacre.errors import InvalidRequest
from nacre.redact.redactor import Redactor, task_secrets
from nacre.result import Captured, Killed, Result, TaskRef
from nacre.tasks import Task, Tasks
from nacre.views.answers import answer

EXTENSION = "io.modelcontextprotocol/tasks"
_POLL_INTERVAL_MS = 1000
"""Sent to the client as `pollIntervalMs`."""


class TaskParams(RequestParams):
    """Parameters of the extension's methods."""

    task_id: str


def has_tasks(ctx: Any) -> bool:
    """Return whether the client supports the tasks extension."""
    client = ctx.session.client_capabilities
    modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    return modern and client is not None and EXTENSION in (client.extensions or {})


def task_handle(task: Task) -> dict[str, Any]:
    """Return the handle that replaces a result."""
    return {"resultType": "task", **_state(task, "working")}


class TaskMethods:
    """Handlers of the extension's methods. They raise MCPError for an unknown task, or without the extension."""

    def __init__(self, settings: ServerSettings, tasks: Tasks, deadlines: Deadlines) -> None:
        self._settings, self._tasks, self._deadlines = settings, tasks, deadlines

    async def get(self, ctx: Any, params: TaskParams) -> dict[str, Any]:
        """Return the state of a task, with its result if it has ended or its deadline has passed."""
        task = await asyncio.to_thread(self._find, ctx, params)
        if isinstance(task.outcome, Killed):
            return _state(task, "cancelled")
        if task.alive and task.duration < self._deadlines.deadline_of(task.id):
            return _state(task, "working")
        result = await asyncio.to_thread(self._result, task)
        return {**_state(task, "completed"), "result": result.model_dump(by_alias=True, mode="json", exclude_none=True)}

    async def cancel(self, ctx: Any, params: TaskParams) -> dict[str, Any]:
        """Kill a task."""
        task = await asyncio.to_thread(self._find, ctx, params)
        await self._tasks.kill(task.id)
        return {}

    async def update(self, ctx: Any, params: TaskParams) -> dict[str, Any]:
        """Accept answers to a task's questions and ignore them: tasks have none."""
        await asyncio.to_thread(self._find, ctx, params)
        return {}

    def _find(self, ctx: Any, params: TaskParams) -> Task:
        if not has_tasks(ctx):
            raise MCPError(
                code=MISSING_REQUIRED_CLIENT_CAPABILITY,
                message="The client has not declared the tasks extension.",
                data={"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
            )
        if ctx.request is not None and decode_header_value(ctx.request.headers.get(MCP_NAME_HEADER)) != params.task_id:
            raise MCPError(code=HEADER_MISMATCH, message=f"{MCP_NAME_HEADER} is not the taskId of the request.")
        try:
            task = self._tasks.get(params.task_id)
        except InvalidRequest as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from error
        if task.id != params.task_id or task.outcome is None:  # only a prefix of an ID; unreadable
            raise MCPError(code=INVALID_PARAMS, message=f"No such task: {params.task_id!r:.60}.")
        return task

    def _result(self, task: Task) -> Any:
        """Return the result that the call would have had without a budget."""
        redactor = redactor_from(self._settings.context.secrets)
        result = result_from(task, self._tasks, self._settings.profile.output, redactor)
        return result_of(answer(result, self._settings.profile.view), shaped=True)


class Deadlines:
    """Seconds that the model wanted to wait in all, for each task that a client with the extension waits for."""

    def __init__(self) -> None:
        self._by_task: dict[str, float] = {}

    def deadline_of(self, task: str) -> float:
        """Return the deadline of a task; infinity if there is none."""
        return self._by_task.get(task, math.inf)

    def keep(self, task: str, seconds: float, tasks: Tasks) -> None:
        """Store a task's deadline. Remove those of tasks that have ended."""
        for id in list(self._by_task):
            with contextlib.suppress(KeyError):  # another thread removed it
                if not _runs(id, tasks):
                    del self._by_task[id]
        if seconds < math.inf:
            self._by_task[task] = seconds

    def __len__(self) -> int:
        return len(self._by_task)


def _runs(id: str, tasks: Tasks) -> bool:
    try:
        return tasks.get(id).alive
    except InvalidRequest:  # removed
        return False


def redactor_from(secrets: Iterable[str]) -> Redactor:
    """Return a redactor for everything that is reported about a task."""
    return Redactor((*secrets, *task_secrets()), host_environment())


def result_from(task: Task, tasks: Tasks, room: int, redactor: Redactor) -> Result:
    """Return the current result of a task, with the start and the end of its output: at most `room` bytes."""
    assert task.outcome is not None, "one that cannot be read is not found"
    head = tasks.output(task.id, limit=room // 2)
    tail = tasks.output(task.id, since=max(head.cursor, task.bytes - room // 2), limit=room // 2)
    dropped = max(0, tail.start - head.cursor) + head.start
    both = Captured(
        head=head.data, tail=tail.data, total_bytes=dropped + len(head.data) + len(tail.data), dropped_bytes=dropped
    )
    return Result(
        command=task.command,
        cwd=task.cwd,
        outcome=task.outcome,
        out=both,
        both=both,
        duration=task.duration,
        pid=task.pid,
        task=TaskRef(task.id, task.pid or 0, task.pgid or 0, task.output_file) if task.alive else None,
        notes=task.notes,
        redactor=redactor,
    )


def _state(task: Task, status: str) -> dict[str, Any]:
    last = time.time() - (task.idle or 0.0) if task.ended is None else task.ended
    return {
        "taskId": task.id,
        "status": status,
        "statusMessage": f"{task.summary}, {describe_duration(task.duration)}",
        "createdAt": _moment(task.created),
        "lastUpdatedAt": _moment(max(last, task.created)),
        "ttlMs": None,
        "pollIntervalMs": _POLL_INTERVAL_MS,
    }


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
