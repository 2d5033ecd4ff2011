"""The tool that runs commands.

Adds three things to `Bash.call`: the budget, after which the command keeps running as a task; progress reports; and
cancellation that leaves nothing running, neither the command nor a task that it has just become.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import anyio
from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult

from nacre.adapters.mcp.settings import ServerSettings
from nacre.adapters.mcp.tools.approval import Approval
from nacre.adapters.mcp.tools.progress import Progress
from nacre.adapters.mcp.tools.results import error_result, result_of
from nacre.adapters.mcp.tools.tasks_extension import Deadlines, has_tasks, task_handle
from nacre.base.frozen import replace
from nacre.bash import Bash
from nacre.cancel import Cancel
from nacre.environment import host_environment
from nacre.errors import NacreError
from nacre.redact.redactor import Redactor
from nacre.result import Chunk, Event, Running
from nacre.tasks import Tasks
from nacre.toolcall.answer import answer_call
from nacre.types import Request, ToolContext
from nacre.views.answers import Answer

_CANCEL_TIMEOUT_S = 30.0
"""Seconds for a cancelled command to be killed; the keeper needs its grace and little more."""
_MAX_CLIENT_NAME_CHARS = 100
"""Limit on the client's name in logs."""


class RunTool:
    """Answers calls of the tool that runs commands."""

    def __init__(self, settings: ServerSettings, bash: Bash, tasks: Tasks) -> None:
        self._settings, self._bash, self._tasks = settings, bash, tasks
        self.deadlines = Deadlines()

    async def run(
        self, ctx: Any, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult | dict[str, Any]:
        """Answer a call: with a result, with a question for approval, or with a task handle."""
        redactor = Redactor(self._settings.context.secrets, host_environment())
        approval, cancel = Approval(ctx, params), Cancel()
        progress = Progress(redactor) if ctx.meta is not None and ctx.meta.get("progress_token") is not None else None
        own = replace(self._settings.context, cancel=cancel, approve=approval.approve, caller=caller_of(ctx))
        wanted = math.inf

        async def stream(request: Request, ctx: ToolContext) -> AsyncGenerator[Event, None]:
            nonlocal wanted
            if request.mode != "background":
                wanted = request.yield_after or math.inf
                request = replace(request, yield_after=min(wanted, self._settings.budget))
            async with aclosing(self._bash.stream(request, ctx)) as events:
                async for event in events:
                    if progress is not None and isinstance(event, Chunk):
                        progress.see(event)
                    yield event

        call = asyncio.ensure_future(answer_call(self._settings.profile, params.arguments or {}, own, stream))
        try:
            if progress is not None:
                await progress.report(call, lambda at, said: ctx.session.report_progress(at, message=said))
            answer = await asyncio.shield(call)
        except (NacreError, OSError) as error:
            if call.done():
                return error_result(error, redactor)
            await self._give_up(call, cancel)
            raise
        except BaseException:  # cancelled, or the client has disconnected
            await self._give_up(call, cancel)
            raise
        if approval.wanted is not None:
            return approval.wanted
        outcome = None if answer.result is None else answer.result.outcome
        if isinstance(outcome, Running) and outcome.promoted and has_tasks(ctx):
            return await asyncio.to_thread(self._handle, outcome.task, wanted)
        return result_of(answer, shaped=answer.result is not None)

    def _handle(self, id: str, wanted: float) -> dict[str, Any]:
        self.deadlines.keep(id, wanted, self._tasks)
        return task_handle(self._tasks.get(id))

    async def _give_up(self, call: asyncio.Future[Answer], cancel: Cancel) -> None:
        """Cancel the command and wait until it is killed. Kill the task that it may have become."""
        cancel.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({call}, timeout=_CANCEL_TIMEOUT_S)
            if not call.done():
                call.cancel()
            elif not call.cancelled() and call.exception() is None:
                result = call.result().result
                if result is not None and result.task is not None:  # it became a task at the same moment
                    await self._tasks.kill(result.task.id)


def caller_of(ctx: Any) -> str:
    """Return the caller for logs and audit trail: `mcp claude-code/2.1`. The client's information is not verified."""
    known = ctx.session.client_params
    if known is None:
        return "mcp"
    said = f"{known.client_info.name}/{known.client_info.version}"
    return "mcp " + "".join(letter if letter.isprintable() else "?" for letter in said)[:_MAX_CLIENT_NAME_CHARS]
