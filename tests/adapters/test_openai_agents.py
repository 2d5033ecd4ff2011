"""nacre in the OpenAI Agents SDK, with a scripted model behind the SDK's own interface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    RunConfig,
    RunContextWrapper,
    Runner,
    ShellActionRequest,
    ShellCallData,
    ShellCommandRequest,
)
from agents.tool_context import ToolContext as CallContext

from nacre import Bash, ToolContext
from nacre.adapters.openai_agents import shell_tool, tools
from tests.adapters.conversation import (
    ASKED,
    ODD,
    TEXTS,
    Call,
    CallerObserver,
    next_call,
    normalize_answers,
    project,
    without_framework,
)
from tests.adapters.ending import ENDINGS, end_run_by
from tests.adapters.examples import check_example, run_docs_example
from tests.adapters.openai_model import Scripted, make_asking_bash, once, outputs, run, say, shell_call, use
from tests.support.lifeline import Lifeline

pytestmark = pytest.mark.framework


def respond_next_call(found: list[Any]) -> Any:
    call = next_call([item["output"] for item in found])
    return say("done") if call is None else use(call, len(found))


async def test_openai_agents_conversation_matches_the_other_frameworks(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    own = tools(Bash(observers=[heard]), ctx)
    result = await run(Agent(name="coder", model=Scripted(respond_next_call), tools=[*own]))
    assert normalize_answers([item["output"] for item in outputs(result)], ctx) == TEXTS
    assert heard.callers == ["openai-agents"] * ASKED


async def test_odd_calls_are_answered_as_without_a_framework(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    model = Scripted(lambda found: use(ODD[len(found)], len(found)) if len(found) < len(ODD) else say("done"))
    result = await run(Agent(name="coder", model=model, tools=[*tools(ctx=ctx)]))
    assert normalize_answers([item["output"] for item in outputs(result)], ctx) == await without_framework(ODD, ctx)


NO_OBJECTS = ["{", "[]", "null", "7", "", '{"command": "ls"']


def call_first_with(given: str, name: str) -> Callable[[list[Any]], Any]:
    """Return a model whose first call has these arguments and whose second call is valid."""

    def respond(found: list[Any]) -> Any:
        if len(found) == 2:
            return say("done")
        call = use(Call("Bash", {"command": "echo hello"}), len(found))
        return call if found else call.model_copy(update={"name": name, "arguments": given})

    return respond


@pytest.mark.parametrize("given", NO_OBJECTS)
@pytest.mark.parametrize("name", ["Bash", "TaskOutput"])
async def test_arguments_that_are_not_a_json_object_are_answered_with_an_error(
    tmp_path: Path, name: str, given: str
) -> None:
    ctx = ToolContext(working_dir=tmp_path, approve=lambda _: False)
    result = await run(Agent(name="coder", model=Scripted(call_first_with(given, name)), tools=[*tools(ctx=ctx)]))
    wrong, right = [item["output"] for item in outputs(result)]
    assert wrong.startswith("Error (")
    assert right == "hello"


@pytest.mark.parametrize("given", NO_OBJECTS)
async def test_malformed_arguments_interrupt_the_run_and_are_then_answered(tmp_path: Path, given: str) -> None:
    own = tools(ctx=ToolContext(working_dir=tmp_path))
    agent: Agent[Any] = Agent(name="coder", model=Scripted(call_first_with(given, "Bash")), tools=[*own])
    first = await run(agent)
    (interruption,) = first.interruptions
    state = first.to_state()
    state.approve(interruption)
    wrong, right = [item["output"] for item in outputs(await run(agent, state))]
    assert wrong.startswith("Error (")
    assert right == "hello"


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("kind", ["function", "shell"])
async def test_ended_run_leaves_no_process(tmp_path: Path, life: Lifeline, how: str, kind: str) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    command = f"{life.hold} (setsid sleep 600 &); sleep 600"
    function = kind == "function"
    call = use(Call("Bash", {"command": command}), 0) if function else shell_call(command)
    own: list[Any] = [*tools(ctx=ctx)] if function else [shell_tool(ctx=ctx)]
    await end_run_by(how, run(Agent(name="coder", model=Scripted(once(call)), tools=own)), life)


async def test_cancelled_streamed_run_leaves_no_process(tmp_path: Path, life: Lifeline) -> None:
    call = use(Call("Bash", {"command": f"{life.hold} (setsid sleep 600 &); sleep 600"}), 0)
    own = tools(ctx=ToolContext(working_dir=tmp_path))
    agent: Agent[Any] = Agent(name="coder", model=Scripted(once(call)), tools=[*own])
    streamed = Runner.run_streamed(agent, "Go.", run_config=RunConfig(tracing_disabled=True))
    events = asyncio.create_task(collect_events(streamed.stream_events()))
    await life.wait_until_held()
    streamed.cancel()
    await life.wait_until_ended()
    await events


async def collect_events(events: AsyncIterator[Any]) -> list[Any]:
    return [event async for event in events]


@pytest.mark.parametrize("kind", ["function", "shell"])
@pytest.mark.parametrize("approved", [True, False])
async def test_command_that_needs_approval_interrupts_the_run_until_decided(
    tmp_path: Path, kind: str, approved: bool
) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    function = kind == "function"
    call = use(Call("Bash", {"command": "touch made"}), 0) if function else shell_call("touch made")
    own: list[Any] = [*tools(make_asking_bash(), ctx)] if function else [shell_tool(make_asking_bash(), ctx)]
    agent: Agent[Any] = Agent(name="coder", model=Scripted(once(call)), tools=own)
    first = await run(agent)
    (interruption,) = first.interruptions
    assert not (tmp_path / "made").exists()
    state = first.to_state()
    if approved:
        state.approve(interruption)
    else:
        state.reject(interruption)
    await run(agent, state)
    assert (tmp_path / "made").exists() is approved


async def test_command_that_needs_approval_is_refused_when_called_directly(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    function, *_ = tools(make_asking_bash(), ctx)
    assert isinstance(function, FunctionTool)
    given = json.dumps({"command": "touch made"})
    call = CallContext(None, tool_name="Bash", tool_call_id="c0", tool_arguments=given)
    assert "no person was asked" in await function.on_invoke_tool(call, given)

    execute: Any = shell_tool(make_asking_bash(), ctx).executor
    data = ShellCallData(call_id="c0", action=ShellActionRequest(commands=["touch made"]))
    result = await execute(ShellCommandRequest(ctx_wrapper=RunContextWrapper(None), data=data))
    assert [each.exit_code for each in result.output] == [126]
    assert not (tmp_path / "made").exists()


async def test_harmless_command_does_not_interrupt_the_run(tmp_path: Path) -> None:
    call = use(Call("Bash", {"command": "ls"}), 0)
    own = tools(make_asking_bash(), ToolContext(working_dir=tmp_path))
    result = await run(Agent(name="coder", model=Scripted(once(call)), tools=[*own]))
    assert result.interruptions == []


def test_openai_agents_example_does_what_it_says(tmp_path: Path) -> None:
    check_example("with_openai_agents.py", tmp_path)


def test_openai_agents_code_on_the_page_works() -> None:
    page = run_docs_example("OpenAI Agents SDK", ctx=ToolContext())
    assert isinstance(page["agent"], Agent)
