"""Builds a server of the official SDK from the settings, ready to connect to a transport."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from nacre import __version__
from nacre.adapters.mcp import resources
from nacre.adapters.mcp.settings import ServerSettings
from nacre.adapters.mcp.tools.list import Tools
from nacre.adapters.mcp.tools.run import RunTool
from nacre.adapters.mcp.tools.tasks_extension import EXTENSION, TaskMethods, TaskParams, redactor_from
from nacre.bash import Bash
from nacre.tasks import Tasks


def server_for(settings: ServerSettings, *, max_running: int | None = None) -> Server[Any]:
    """Return a server. `max_running` limits the commands that run at once. Raises InvalidRequest if the settings cannot
    be satisfied on this machine."""
    bash = Bash(settings.profile, observers=settings.observers, max_running=max_running)
    tasks = Tasks(settings.context.output_dir)
    runner = RunTool(settings, bash, tasks)
    tools = Tools(settings, bash, tasks, runner)

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools.listed)

    async def list_resources(_ctx: Any, _params: Any) -> types.ListResourcesResult:
        redactor = redactor_from(settings.context.secrets)
        return types.ListResourcesResult(resources=await asyncio.to_thread(resources.logs, tasks, redactor))

    async def list_templates(_ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        redactor = redactor_from(settings.context.secrets)
        read = await asyncio.to_thread(resources.log, params.uri, tasks, redactor, ctx.protocol_version)
        return types.ReadResourceResult(contents=[read])

    server: Server[Any] = Server(
        "nacre",
        version=__version__,
        title="nacre",
        description="Runs shell commands, supervised.",
        instructions=(
            "Runs shell commands. Each is checked before it runs; one that takes long keeps running as a background "
            "task with an id: TaskOutput reads it, TaskWait waits for it, KillShell kills it, TaskList lists it."
        ),
        get_tool_input_schema=tools.schema_of,
        on_list_tools=list_tools,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, tools.call)
    server.extensions[EXTENSION] = {}
    methods = TaskMethods(settings, tasks, runner.deadlines)
    server.add_request_handler("tasks/get", TaskParams, methods.get)
    server.add_request_handler("tasks/cancel", TaskParams, methods.cancel)
    server.add_request_handler("tasks/update", TaskParams, methods.update)
    return server
