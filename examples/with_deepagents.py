"""nacre as the sandbox of a deep agent. Runs offline: LangChain's fake chat model replaces a real one."""

from typing import Any

from deepagents import create_deep_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from nacre import ToolContext
from nacre.adapters.deepagents import NacreBackend


class Model(GenericFakeChatModel):
    def bind_tools(self, *_: Any, **__: Any) -> "Model":
        return self


call = {"name": "execute", "args": {"command": "echo hello; exit 3"}, "id": "call-1"}
model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))
agent = create_deep_agent(model, backend=NacreBackend(ctx=ToolContext(working_dir=".")))
messages = agent.invoke({"messages": [("user", "Say hello.")]})["messages"]
print(messages[2].content.splitlines()[0])  # hello
