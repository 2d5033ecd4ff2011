"""OpenAI Agents SDK: function tools, and an executor for its `ShellTool`.

    agent = Agent(name="coder", tools=tools(ctx=ToolContext(working_dir=".")))
    agent = Agent(name="coder", tools=[shell_tool(ctx=ToolContext(working_dir="."))])

What needs a person's word interrupts the run, and runs once that call has been approved in the run's state; where the
context has an `approve` of its own, that is asked instead.
"""

from __future__ import annotations

from typing import Any

from nacre.adapters.extras import missing
from nacre.adapters.streams import streams
from nacre.adapters.toolbox import Approve, Definition, Toolbox
from nacre.errors import InvalidRequest
from nacre.frozen import replace
from nacre.result import TimedOut
from nacre.tool import Bash
from nacre.types import Request, ToolContext
from nacre.verdict import Verdict

try:
    from agents import (
        FunctionTool,
        RunContextWrapper,
        ShellActionRequest,
        ShellCallOutcome,
        ShellCommandOutput,
        ShellCommandRequest,
        ShellResult,
        ShellTool,
    )
    from agents.tool_context import ToolContext as CallContext
except ImportError as error:
    raise missing("openai-agents", error) from error


def tools(bash: Bash | None = None, ctx: ToolContext | None = None, *, tasks: bool = True) -> list[FunctionTool]:
    box = Toolbox(bash, ctx, tasks=tasks)
    return [_tool(box, each) for each in box.definitions]


def _tool(box: Toolbox, definition: Definition) -> FunctionTool:
    name = definition.name

    async def invoke(run: CallContext[Any], arguments: str) -> str:
        answer = await box.call(name, arguments, approve=_approve(box, run, name, run.tool_call_id))
        return answer.text

    async def needs_approval(run: RunContextWrapper[Any], arguments: dict[str, Any], call: str) -> bool:
        return box.ctx.approve is None and box.asks(name, arguments) is not None

    return FunctionTool(
        name=name,
        description=definition.description,
        params_json_schema=dict(definition.schema),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # what may be left out is not "required or null", as strict schemas want it
        needs_approval=needs_approval,
    )


def _approve(box: Toolbox, run: RunContextWrapper[Any], tool: str, call: str) -> Approve | None:
    """What the run's state says of this very call; None: as the context has it."""
    if box.ctx.approve is not None:
        return None

    def approve(_: Verdict) -> bool:
        return run.is_tool_approved(tool, call) is True

    return approve


def shell_tool(bash: Bash | None = None, ctx: ToolContext | None = None, *, name: str = "shell") -> ShellTool:
    """The API's own shell tool, run here. Each command is a shell of its own."""
    box = Toolbox(bash, ctx, tasks=False)

    async def execute(request: ShellCommandRequest) -> ShellResult:
        action = request.data.action
        approve = _approve(box, request.ctx_wrapper, name, request.data.call_id) or box.ctx.approve
        most = action.max_output_length
        limits = (
            replace(box.ctx.limits, output=most // 3) if most else box.ctx.limits
        )  # of each stream; the rest is ours
        ctx = replace(box.ctx, approve=approve, limits=limits)
        output = [await _run(box.bash, command, action.timeout_ms, ctx) for command in action.commands]
        return ShellResult(output=output, max_output_length=action.max_output_length)

    async def needs_approval(run: RunContextWrapper[Any], action: ShellActionRequest, call: str) -> bool:
        calls = [{"command": command} for command in action.commands]
        return box.ctx.approve is None and any(box.asks(box.name, each) is not None for each in calls)

    return ShellTool(executor=execute, name=name, needs_approval=needs_approval)


async def _run(bash: Bash, command: str, milliseconds: int | None, ctx: ToolContext) -> ShellCommandOutput:
    timeout = milliseconds / 1000 if milliseconds else None
    try:
        result = await bash.run(Request(command, timeout=timeout), ctx)
    except InvalidRequest as error:
        text = f"Error ({error.code}): {error}\n"
        return ShellCommandOutput(stderr=text, outcome=ShellCallOutcome(type="exit", exit_code=125), command=command)
    said = streams(result)
    timed_out = isinstance(result.outcome, TimedOut)
    outcome = ShellCallOutcome(type="timeout") if timed_out else ShellCallOutcome(type="exit", exit_code=said.code)
    return ShellCommandOutput(stdout=said.stdout, stderr=said.stderr, outcome=outcome, command=command)
