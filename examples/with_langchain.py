"""nacre in LangChain. Runs offline: its fake chat model replaces a real one."""

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from nacre import ToolContext
from nacre.adapters.langchain import tools

call = {"name": "Bash", "args": {"command": "echo hello; exit 3"}, "id": "call-1"}
model = GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=[call])]))
named = {tool.name: tool for tool in tools(ctx=ToolContext(working_dir="."))}

reply = model.invoke("Say hello.")
message = named[reply.tool_calls[0]["name"]].invoke(reply.tool_calls[0])
print(message.content.splitlines())  # ['[nacre: exit 3]', 'hello']
print(message.artifact["exit_code"])  # 3
