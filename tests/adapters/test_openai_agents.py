"""nacre in the OpenAI Agents SDK, with a model of its own interface that answers from a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from nacre import Bash, Decision, Policy, ToolContext
from nacre.adapters.openai_agents import shell_tool, tools
from nacre.frozen import replace
from nacre.profiles import DEFAULT
from nacre.tasks import Tasks
from tests.adapters.conversation import COMMANDS, TEXTS, Call, next_call, plain, project
from tests.adapters.examples import does_what_it_says

pytestmark = pytest.mark.framework


class Scripted(Model):
    """Does what `respond` says of what came back from tools so far."""

    def __init__(self, respond: Callable[[list[Any]], Any]) -> None:
        self._respond = respond

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        items = [] if isinstance(input, str) else input
        found = [item for item in items if str(item.get("type", "")).endswith("_output")]
        return ModelResponse(output=[self._respond(found)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


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


async def test_the_conversation_is_what_it_is_everywhere(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    result = await run(Agent(name="coder", model=Scripted(converses), tools=[*tools(ctx=ctx)]))
    assert plain([item["output"] for item in outputs(result)], ctx) == TEXTS


def asking() -> Bash:
    """Asks before whatever is not provably plain."""
    return Bash(replace(DEFAULT, policy=Policy(otherwise=Decision.ASK)))


def once(call: Any) -> Callable[[list[Any]], Any]:
    return lambda found: call if not found else say("done")


def shell_call(*commands: str, **action: Any) -> Any:
    """As the API sends it."""
    given = {"commands": list(commands), **action}
    return {"type": "shell_call", "id": "s", "call_id": "c0", "status": "completed", "action": given}


@pytest.mark.parametrize("kind", ["function", "shell"])
@pytest.mark.parametrize("approved", [True, False])
async def test_what_needs_a_person_interrupts_the_run_until_they_have_said(
    tmp_path: Path, kind: str, approved: bool
) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    function = kind == "function"
    call = use(Call("Bash", {"command": "touch made"}), 0) if function else shell_call("touch made")
    own: list[Any] = [*tools(asking(), ctx)] if function else [shell_tool(asking(), ctx)]
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


async def test_what_is_plain_interrupts_nothing(tmp_path: Path) -> None:
    call = use(Call("Bash", {"command": "ls"}), 0)
    own = tools(asking(), ToolContext(working_dir=tmp_path))
    result = await run(Agent(name="coder", model=Scripted(once(call)), tools=[*own]))
    assert result.interruptions == []


async def shell(ctx: ToolContext, *commands: str, **action: Any) -> list[dict[str, Any]]:
    """What the API is sent back for a shell call."""
    agent: Agent[Any] = Agent(
        name="coder", model=Scripted(once(shell_call(*commands, **action))), tools=[shell_tool(ctx=ctx)]
    )
    (item,) = outputs(await run(agent))
    found: list[dict[str, Any]] = item["output"]
    return found


async def test_the_same_by_the_shell_tool(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    listed, tested, refused, served = await shell(ctx, *COMMANDS)
    assert listed["stdout"] == TEXTS[0] + "\n"
    assert listed["outcome"] == {"type": "exit", "exit_code": 0}
    assert tested["stdout"] == TEXTS[1].partition("\n")[2] + "\n"
    assert tested["outcome"] == {"type": "exit", "exit_code": 1}
    assert refused["stderr"] == TEXTS[2] + "\n"
    assert refused["outcome"] == {"type": "exit", "exit_code": 126}
    assert served["stdout"].startswith("started\n") or "started\n" in served["stdout"]
    (task,) = Tasks(ctx.output_dir).list(all=False)
    assert task.id in served["stderr"]
    await Tasks(ctx.output_dir).kill(task.id)


async def test_a_shell_call_out_of_time_says_so(tmp_path: Path) -> None:
    (found,) = await shell(ToolContext(working_dir=tmp_path), "echo begun; sleep 60", timeout_ms=500)
    assert found["stdout"] == "begun\n"
    assert found["outcome"] == {"type": "timeout"}


async def test_a_shell_call_gives_back_no_more_than_it_was_asked_for(tmp_path: Path) -> None:
    (found,) = await shell(ToolContext(working_dir=tmp_path), "yes | head -c 100000", max_output_length=3000)
    assert len(found["stdout"]) + len(found["stderr"]) <= 3000
    assert "bytes left out" in found["stdout"]


async def test_a_command_that_cannot_be_meant_is_an_output_too(tmp_path: Path) -> None:
    (found,) = await shell(ToolContext(working_dir=tmp_path), "  ")
    assert "empty_command" in found["stderr"]


def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    does_what_it_says("with_openai_agents.py", tmp_path)
