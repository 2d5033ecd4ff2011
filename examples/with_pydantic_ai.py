"""nacre in pydantic-ai. Runs offline: its function model replaces a real one."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nacre import ToolContext
from nacre.adapters.pydantic_ai import NacreToolset


def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(str(last.content))])
    return ModelResponse(parts=[ToolCallPart("Bash", {"command": "echo hello; exit 3"})])


agent = Agent(FunctionModel(model), toolsets=[NacreToolset(ctx=ToolContext(working_dir="."))])
print(agent.run_sync("Say hello.").output.splitlines())  # ['[nacre: exit 3]', 'hello']
