"""OpenAI Agents SDK: function tools, and an executor for its `ShellTool`.

    agent = Agent(name="coder", tools=tools(ctx=ToolContext(working_dir=".")))
    agent = Agent(name="coder", tools=[shell_tool(ctx=ToolContext(working_dir="."))])

A command that needs approval interrupts the run, and runs after that call was approved in the run's state; if the
context has `approve`, that is called instead. Arguments that are not a JSON object interrupt the run as well: the SDK
requires approval for anything that it cannot pass to `needs_approval`. Tool output is text without an error flag: the
answer to an invalid call starts with `Error`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from nacre.adapters.shared.streams import CommandStreams, read_streams
from nacre.adapters.shared.toolbox import Approve, Definition, Toolbox, missing_extra
from nacre.base.frozen import replace
from nacre.bash import Bash
from nacre.errors import InvalidRequest
from nacre.output.shape import MIN_CHARS, ShapeOptions, shape
from nacre.result import Captured, Result, TimedOut
from nacre.types import Request, ToolContext

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
        Tool,
    )
    from agents.tool_context import ToolContext as CallContext
except ImportError as error:
    raise missing_extra("openai-agents", error) from error


CALLER = "openai-agents"
_DEFAULT_MAX_CHARS = 30_000
"""Limit for an action that sets none."""


def tools(bash: Bash | None = None, ctx: ToolContext | None = None, *, tasks: bool = True) -> list[Tool]:
    """Return the `Bash` tool and, unless `tasks=False`, the tools for background tasks. Raises AccessUnavailable if the
    access of `ctx` cannot be enforced on this machine."""
    box = Toolbox(bash, ctx, caller=CALLER, tasks=tasks)
    return [_tool(box, each) for each in box.definitions]


def _tool(box: Toolbox, definition: Definition) -> FunctionTool:
    name = definition.name

    async def invoke(run: CallContext[Any], arguments: str) -> str:
        answer = await box.call(name, arguments, approve=_approve(box, run, name, run.tool_call_id))
        return answer.text

    async def needs_approval(run: RunContextWrapper[Any], arguments: dict[str, Any], call: str) -> bool:
        return box.needs_approval(name, arguments) is not None

    # Pass a function only if it may return True: with one, arguments that are not an object would interrupt the run.
    can_ask = name == box.name and box.ctx.approve is None

    return FunctionTool(
        name=name,
        description=definition.description,
        params_json_schema=dict(definition.schema),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # strict schemas have no optional arguments, only nullable ones
        needs_approval=needs_approval if can_ask else False,
    )


def _approve(box: Toolbox, run: RunContextWrapper[Any], tool: str, call: str) -> Approve | None:
    """Return the decision in the run's state about this call; None to use the context's `approve`, if there is one."""
    said = None if box.ctx.approve is not None else run.is_tool_approved(tool, call)
    return None if said is None else lambda _: said is True


def shell_tool(bash: Bash | None = None, ctx: ToolContext | None = None, *, name: str = "shell") -> ShellTool:
    """Return the API's own shell tool, executed on this machine. Each command of an action runs in a separate shell,
    one after the other, each with the action's timeout. They share its limit on output; the middle of longer output is
    left out."""
    box = Toolbox(bash, ctx, caller=CALLER, tasks=False)

    async def execute(request: ShellCommandRequest) -> ShellResult:
        action = request.data.action
        approve = _approve(box, request.ctx_wrapper, name, request.data.call_id) or box.ctx.approve
        left, output = action.max_output_length, list[ShellCommandOutput]()
        left = _DEFAULT_MAX_CHARS if left is None else max(0, left)
        for number, command in enumerate(action.commands):
            share = left // (len(action.commands) - number)
            found = await _run(box.bash, command, action.timeout_ms, replace(box.ctx, approve=approve), share)
            left = max(0, left - len(found.stdout) - len(found.stderr))
            output.append(found)
        return ShellResult(output=output, max_output_length=action.max_output_length)

    async def needs_approval(run: RunContextWrapper[Any], action: ShellActionRequest, call: str) -> bool:
        if box.ctx.approve is not None:
            return False
        with suppress(InvalidRequest):  # the output reports the error
            return any(box.request_needs_approval(Request(command)) is not None for command in action.commands)
        return False

    return ShellTool(executor=execute, name=name, needs_approval=needs_approval)


async def _run(bash: Bash, command: str, milliseconds: int | None, ctx: ToolContext, share: int) -> ShellCommandOutput:
    timeout = milliseconds / 1000 if milliseconds else None
    try:
        result = await bash.run(Request(command, timeout=timeout), ctx)
    except InvalidRequest as error:
        text = f"Error ({error.code}): {error}\n"
        return ShellCommandOutput(stderr=text, outcome=ShellCallOutcome(type="exit", exit_code=125), command=command)
    said = _fit_streams(result, share)
    timed_out = isinstance(result.outcome, TimedOut)
    outcome = ShellCallOutcome(type="timeout") if timed_out else ShellCallOutcome(type="exit", exit_code=said.code)
    return ShellCommandOutput(stdout=said.stdout, stderr=said.stderr, outcome=outcome, command=command)


def _fit_streams(result: Result, share: int) -> CommandStreams:
    """Return the streams in `share` characters together, unless that is too short to be of use. Neither stream takes
    more than half from the other, and nacre's own notes are not shortened."""
    said = read_streams(result)
    if len(said.stdout) + len(said.stderr) <= share:
        return said
    err = result.err.masked_text(result.redactor)
    notes = said.stderr.removeprefix(err).lstrip("\n")
    room = max(0, share - len(notes))
    for_err = min(len(err), max(room // 2, room - len(said.stdout)))
    out = _shorten_text(result, result.out, said.stdout, room - for_err)
    return CommandStreams(out, _shorten_text(result, result.err, err, for_err) + notes, said.code)


def _shorten_text(result: Result, captured: Captured, text: str, most: int) -> str:
    if len(text) <= most:
        return text
    secrets = () if result.redactor is None else result.redactor.values()
    options = ShapeOptions(chars=max(MIN_CHARS, most - 1))
    return shape(captured, options, secrets=secrets, spill=result.spill).text + "\n"
