"""Scripted model behind the interface of the OpenAI Agents SDK, and runs with it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from nacre import Bash, Decision, Policy
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from tests.adapters.conversation import Call


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


async def run(agent: Agent[Any], start: Any = "Look after the project.") -> Any:
    return await Runner.run(agent, start, run_config=RunConfig(tracing_disabled=True), max_turns=20)


def outputs(result: Any) -> list[Any]:
    return [item for item in result.to_input_list() if str(item.get("type", "")).endswith("_output")]


def make_asking_bash() -> Bash:
    """Return a Bash that asks about every command that is not provably harmless."""
    return Bash(replace(DEFAULT, policy=Policy(default_decision=Decision.ASK)))


def once(call: Any) -> Callable[[list[Any]], Any]:
    return lambda found: call if not found else say("done")


def shell_call(*commands: str, **action: Any) -> Any:
    """Return a shell call as the API sends it."""
    given = {"commands": list(commands), **action}
    return {"type": "shell_call", "id": "s", "call_id": "c0", "status": "completed", "action": given}
