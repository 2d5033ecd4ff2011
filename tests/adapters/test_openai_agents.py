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
    Model,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    Runner,
    ShellActionRequest,
    ShellCallData,
    ShellCommandRequest,
    Usage,
)
from agents.tool_context import ToolContext as CallContext
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from nacre import Bash, Decision, Policy, ToolContext
from nacre.adapters.openai_agents import shell_tool, tools
from nacre.adapters.shared.streams import CommandStreams
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from nacre.profiles.tool import Parameter
from nacre.tasks import Tasks
from nacre.types import Limits
from tests.adapters.conversation import (
    ASKED,
    COMMANDS,
    ODD,
    SECRET,
    STREAMS,
    TEXTS,
    Call,
    CallerObserver,
    next_call,
    plain,
    plain_streams,
    project,
    without_framework,
)
from tests.adapters.ending import ENDINGS, ended_by
from tests.adapters.examples import does_what_it_says, shown_for
from tests.support.lifeline import Lifeline

pytestmark = pytest.mark.framework


class Scripted(Model):
    """Model that returns what `respond` returns for the tool results so far."""

    def __init__(self, respond: Callable[[list[Any]], Any]) -> None:
        self._respond = respond

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        items = [] if isinstance(input, str) else input
        found = [item for item in items if str(item.get("type", "")).endswith("_output")]
        return ModelResponse(output=[self._respond(found)], usage=Usage(), response_id=None)

    async def stream_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        said = await self.get_response(system_instructions, input)
        whole = Response(
            id="r",
            created_at=0,
            model="fake",
            object="response",
            output=said.output,
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=whole, sequence_number=0)


def say(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[content])


def use(call: Call, number: int) -> ResponseFunctionToolCall:
    arguments = json.dumps(call.arguments)
    return ResponseFunctionToolCall(type="function_call", call_id=f"c{number}", name=call.name, arguments=arguments)


def converses(found: list[Any]) -> Any:
    call = next_call([item["output"] for item in found])
    return say("done") if call is None else use(call, len(found))


async def run(agent: Agent[Any], start: Any = "Look after the project.") -> Any:
    return await Runner.run(agent, start, run_config=RunConfig(tracing_disabled=True), max_turns=20)


def outputs(result: Any) -> list[Any]:
    return [item for item in result.to_input_list() if str(item.get("type", "")).endswith("_output")]


async def test_openai_agents_conversation_matches_the_other_frameworks(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    own = tools(Bash(observers=[heard]), ctx)
    result = await run(Agent(name="coder", model=Scripted(converses), tools=[*own]))
    assert plain([item["output"] for item in outputs(result)], ctx) == TEXTS
    assert heard.callers == ["openai-agents"] * ASKED


async def test_odd_calls_are_answered_as_without_a_framework(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    model = Scripted(lambda found: use(ODD[len(found)], len(found)) if len(found) < len(ODD) else say("done"))
    result = await run(Agent(name="coder", model=model, tools=[*tools(ctx=ctx)]))
    assert plain([item["output"] for item in outputs(result)], ctx) == await without_framework(ODD, ctx)


NO_OBJECTS = ["{", "[]", "null", "7", "", '{"command": "ls"']


def first_with(given: str, name: str) -> Callable[[list[Any]], Any]:
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
    result = await run(Agent(name="coder", model=Scripted(first_with(given, name)), tools=[*tools(ctx=ctx)]))
    wrong, right = [item["output"] for item in outputs(result)]
    assert wrong.startswith("Error (")
    assert right == "hello"


@pytest.mark.parametrize("given", NO_OBJECTS)
async def test_malformed_arguments_interrupt_the_run_and_are_then_answered(tmp_path: Path, given: str) -> None:
    own = tools(ctx=ToolContext(working_dir=tmp_path))
    agent: Agent[Any] = Agent(name="coder", model=Scripted(first_with(given, "Bash")), tools=[*own])
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
    await ended_by(how, run(Agent(name="coder", model=Scripted(once(call)), tools=own)), life)


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


def make_asking_bash() -> Bash:
    """Return a Bash that asks about every command that is not provably harmless."""
    return Bash(replace(DEFAULT, policy=Policy(default_decision=Decision.ASK)))


def once(call: Any) -> Callable[[list[Any]], Any]:
    return lambda found: call if not found else say("done")


def shell_call(*commands: str, **action: Any) -> Any:
    """Return a shell call as the API sends it."""
    given = {"commands": list(commands), **action}
    return {"type": "shell_call", "id": "s", "call_id": "c0", "status": "completed", "action": given}


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


async def shell(ctx: ToolContext, *commands: str, **action: Any) -> list[dict[str, Any]]:
    """Run the shell call; return the output that the API gets."""
    agent: Agent[Any] = Agent(
        name="coder", model=Scripted(once(shell_call(*commands, **action))), tools=[shell_tool(ctx=ctx)]
    )
    (item,) = outputs(await run(agent))
    found: list[dict[str, Any]] = item["output"]
    return found


def streams_in(found: dict[str, Any]) -> CommandStreams:
    return CommandStreams(found["stdout"], found["stderr"], found["outcome"]["exit_code"])


async def test_shell_tool_gives_the_same_streams(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    found = await shell(ctx, *COMMANDS)
    (task,) = Tasks(ctx.output_dir).list(all=False)
    await Tasks(ctx.output_dir).kill(task.id)
    assert plain_streams([streams_in(each) for each in found], ctx) == STREAMS
    assert {each["outcome"]["type"] for each in found} == {"exit"}


async def test_shell_call_names_its_caller(tmp_path: Path) -> None:
    heard = CallerObserver()
    own = shell_tool(Bash(observers=[heard]), ToolContext(working_dir=tmp_path))
    await run(Agent(name="coder", model=Scripted(once(shell_call("true", "false"))), tools=[own]))
    assert heard.callers == ["openai-agents"] * 2


async def test_shell_command_timeout_is_reported_and_the_next_command_runs(tmp_path: Path, life: Lifeline) -> None:
    late, next_one = await shell(
        ToolContext(working_dir=tmp_path), f"{life.hold} echo begun; sleep 600", "echo next", timeout_ms=2000
    )
    assert late["outcome"] == {"type": "timeout"}
    assert late["stdout"] == "begun\n"
    assert "timed out after 2 s" in late["stderr"]
    assert streams_in(next_one) == CommandStreams("next\n", "", 0)
    await life.wait_until_ended()


async def test_shell_tool_reports_exit_codes_like_a_shell(tmp_path: Path) -> None:
    found = await shell(ToolContext(working_dir=tmp_path), "exit 7", "kill -TERM $$", "nowhere", "printf 'a\\377'")
    assert [each["outcome"]["exit_code"] for each in found] == [7, 143, 127, 0]
    assert found[3]["stdout"] == "a\ufffd"


async def test_shell_call_masks_secrets(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, secrets=(SECRET,))
    (found,) = await shell(ctx, f"echo {SECRET}; echo {SECRET} >&2")
    assert (found["stdout"], found["stderr"]) == ("[secret]\n", "[secret]\n")


FLOOD = "seq 100000; seq 100000 >&2"


async def test_shell_call_output_is_limited_to_max_output_length(tmp_path: Path) -> None:
    (found,) = await shell(ToolContext(working_dir=tmp_path), FLOOD, max_output_length=3000)
    assert 1500 < len(found["stdout"]) + len(found["stderr"]) <= 3000
    for text in (found["stdout"], found["stderr"]):
        assert text.startswith("1\n2\n")
        assert "left out" in text
        assert text.endswith("\n100000\n")


async def test_long_stream_may_use_the_length_that_a_short_one_leaves(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    (found,) = await shell(ctx, "seq 100000; echo alas >&2; exit 3", max_output_length=3000)
    assert len(found["stdout"]) > 3000 // 2
    assert found["stdout"].endswith("\n100000\n")
    assert (found["stderr"], found["outcome"]["exit_code"]) == ("alas\n", 3)


async def test_timeout_message_is_not_cut_by_max_output_length(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    (found,) = await shell(ctx, f"{FLOOD}; sleep 600", max_output_length=3000, timeout_ms=2000)
    assert len(found["stdout"]) + len(found["stderr"]) <= 3000
    assert found["stderr"].rstrip().endswith("]")
    assert "[nacre: timed out after 2 s" in found["stderr"]


async def test_shell_output_without_a_length_is_limited_to_30000_characters(tmp_path: Path) -> None:
    (found,) = await shell(ToolContext(working_dir=tmp_path), "seq 400000")
    assert len(found["stdout"]) <= 30_000
    assert found["stdout"].endswith("\n400000\n")


async def test_huge_max_output_length_gives_all_captured_output(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, limits=Limits(output=100_000))
    (found,) = await shell(ctx, "seq 400000", max_output_length=10**12)
    assert 90_000 < len(found["stdout"]) < 101_000


async def test_commands_of_a_shell_call_share_the_output_length(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    found = await shell(ctx, "echo short", FLOOD, FLOOD, "git push --force", max_output_length=6000)
    assert found[0]["stdout"] == "short\n"
    first, second = (len(each["stdout"]) for each in found[1:3])
    assert 500 < first <= second
    assert found[2]["stderr"].endswith("\n100000\n")
    assert streams_in(found[3]) == STREAMS[2]


async def test_truncation_of_shell_output_splits_no_secret(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, secrets=(SECRET,))
    (found,) = await shell(ctx, f"for n in $(seq 900); do echo $n {SECRET}; done", max_output_length=2000)
    assert "[secret]" in found["stdout"]
    assert "hunter" not in found["stdout"]


@pytest.mark.parametrize("most", [-1, 0, 1, 10])
async def test_tiny_or_negative_max_output_length_is_not_an_error(tmp_path: Path, most: int) -> None:
    (found,) = await shell(ToolContext(working_dir=tmp_path), "seq 1000; exit 3", max_output_length=most)
    assert len(found["stdout"]) <= max(0, most)
    assert found["outcome"] == {"type": "exit", "exit_code": 3}


async def test_shell_action_is_approved_as_a_whole(tmp_path: Path) -> None:
    own = shell_tool(make_asking_bash(), ToolContext(working_dir=tmp_path))
    agent: Agent[Any] = Agent(
        name="coder", model=Scripted(once(shell_call("ls", "touch one", "touch two"))), tools=[own]
    )
    first = await run(agent)
    assert list(tmp_path.iterdir()) == []  # the harmless call waits with the rest
    state = first.to_state()
    (interruption,) = first.interruptions
    state.approve(interruption)
    await run(agent, state)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}


async def test_shell_tool_requests_approval_despite_other_required_parameters(tmp_path: Path) -> None:
    more = Parameter(name="why", kind="string", to="description", required=True, description="What it is for.")
    tool = replace(DEFAULT.tool, parameters=(DEFAULT.tool.parameters[0], more))
    profile = replace(DEFAULT, tool=tool, policy=Policy(default_decision=Decision.ASK))
    own = shell_tool(Bash(profile), ToolContext(working_dir=tmp_path))
    first = await run(Agent(name="coder", model=Scripted(once(shell_call("touch made"))), tools=[own]))
    assert len(first.interruptions) == 1


async def test_approval_does_not_lift_a_refusal(tmp_path: Path) -> None:
    own = shell_tool(make_asking_bash(), ToolContext(working_dir=tmp_path))
    agent: Agent[Any] = Agent(
        name="coder", model=Scripted(once(shell_call("touch made", "git push --force"))), tools=[own]
    )
    first = await run(agent)
    state = first.to_state()
    (interruption,) = first.interruptions
    state.approve(interruption)
    (item,) = outputs(await run(agent, state))
    made, refused = item["output"]
    assert streams_in(made) == CommandStreams("", "", 0)
    assert streams_in(refused) == STREAMS[2]


async def test_invalid_shell_command_is_answered_with_exit_code_125(tmp_path: Path) -> None:
    wrong, right = await shell(ToolContext(working_dir=tmp_path), "  ", "echo hello")
    assert streams_in(wrong) == CommandStreams(
        "", "Error (empty_command): The command is empty. Give a shell command.\n", 125
    )
    assert streams_in(right) == CommandStreams("hello\n", "", 0)


def test_openai_agents_example_does_what_it_says(tmp_path: Path) -> None:
    does_what_it_says("with_openai_agents.py", tmp_path)


def test_openai_agents_code_on_the_page_works() -> None:
    page = shown_for("OpenAI Agents SDK", ctx=ToolContext())
    assert isinstance(page["agent"], Agent)
