"""claude-agent-sdk: nacre's tools as an MCP server inside this process.

    options = ClaudeAgentOptions(mcp_servers={"nacre": server()}, allowed_tools=allowed(), tools=[])

What needs a person's word goes to the context's `approve`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nacre.adapters.extras import missing
from nacre.adapters.toolbox import Toolbox
from nacre.tool import Bash
from nacre.types import ToolContext

try:
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server
except ImportError as error:
    raise missing("claude-agent-sdk", error) from error

NAME = "nacre"


def server(bash: Bash | None = None, ctx: ToolContext | None = None, *, tasks: bool = True) -> McpSdkServerConfig:
    box = Toolbox(bash, ctx, tasks=tasks)
    found = [
        SdkMcpTool(each.name, each.description, dict(each.schema), _handler(box, each.name)) for each in box.definitions
    ]
    return create_sdk_mcp_server(NAME, tools=found)


def allowed(bash: Bash | None = None, *, tasks: bool = True) -> list[str]:
    """The tools' names as the agent knows them, for `allowed_tools`."""
    return [f"mcp__{NAME}__{each.name}" for each in Toolbox(bash, tasks=tasks).definitions]


def _handler(box: Toolbox, name: str) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    async def call(arguments: Any) -> dict[str, Any]:
        answer = await box.call(name, arguments)
        said: dict[str, Any] = {"content": [{"type": "text", "text": answer.text}]}
        return {**said, "is_error": True} if answer.error else said

    return call
