"""claude-agent-sdk: nacre's tools as an MCP server inside this process.

    options = ClaudeAgentOptions(mcp_servers={"nacre": server()}, allowed_tools=allowed_tools(), tools=[])

Commands that need approval go to the context's `approve`. An invalid call is a result with `is_error`; a refusal or a
non-zero exit status is not. The SDK's own helper for such servers would reject calls that do not fit the schema with
its own message; here the tools reject them, and say what to do instead.
"""

from __future__ import annotations

from typing import Any

from nacre import __version__
from nacre.adapters.shared.toolbox import Toolbox, missing_extra
from nacre.bash import Bash
from nacre.types import ToolContext

try:
    import mcp_types as types
    from claude_agent_sdk import McpSdkServerConfig
    from mcp.server.lowlevel import Server
except ImportError as error:
    raise missing_extra("claude-agent-sdk", error) from error

NAME = "nacre"
CALLER = "claude-agent-sdk"


def server(bash: Bash | None = None, ctx: ToolContext | None = None, *, tasks: bool = True) -> McpSdkServerConfig:
    """Return the configuration of the server, for `mcp_servers`. `tasks=False` leaves out the tools for background
    tasks. Raises AccessUnavailable if the access of `ctx` cannot be enforced on this machine."""
    box = Toolbox(bash, ctx, caller=CALLER, tasks=tasks)
    listed = [
        types.Tool(name=each.name, description=each.description, input_schema=dict(each.schema))
        for each in box.definitions
    ]

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        answer = await box.call(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=answer.text)], is_error=bool(answer.error))

    own: Server[Any] = Server(NAME, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)
    return McpSdkServerConfig(type="sdk", name=NAME, instance=own)


def allowed_tools(bash: Bash | None = None, *, tasks: bool = True) -> list[str]:
    """Return the tool names as the agent knows them, for its option `allowed_tools`."""
    return [f"mcp__{NAME}__{each.name}" for each in Toolbox(bash, tasks=tasks).definitions]
