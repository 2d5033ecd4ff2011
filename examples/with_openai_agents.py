"""nacre in the OpenAI Agents SDK. Runs offline: a scripted `Model` replaces a real one."""

import json
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from nacre import ToolContext
from nacre.adapters.openai_agents import tools


class Scripted(Model):
    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        told = None if isinstance(input, str) else input[-1].get("output")
        return ModelResponse(output=[call() if told is None else say(told)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def call() -> ResponseFunctionToolCall:
    arguments = json.dumps({"command": "echo hello; exit 3"})
    return ResponseFunctionToolCall(type="function_call", call_id="call-1", name="Bash", arguments=arguments)


def say(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="1", type="message", role="assistant", status="completed", content=[content])


agent = Agent(name="coder", model=Scripted(), tools=[*tools(ctx=ToolContext(working_dir="."))])
result = Runner.run_sync(agent, "Say hello.", run_config=RunConfig(tracing_disabled=True))
print(result.final_output.splitlines())  # ['[nacre: exit 3]', 'hello']
