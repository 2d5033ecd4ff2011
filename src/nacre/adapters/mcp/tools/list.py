"""The tools of a server, and their handlers. The annotations that a client sees depend on the access mode."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    Tool,
    ToolAnnotations,
)

from nacre.adapters.mcp.settings import ServerSettings
from nacre.adapters.mcp.surrogates import check_text
from nacre.adapters.mcp.tools import output_schemas, wait
from nacre.adapters.mcp.tools.results import error_result, to_result
from nacre.adapters.mcp.tools.run import RunTool
from nacre.adapters.mcp.tools.tasks_extension import redactor_from
from nacre.adapters.mcp.tools.wait import fields
from nacre.approval.check import check
from nacre.bash import Bash
from nacre.errors import NacreError
from nacre.planning.paths import resolve_cwd
from nacre.redact.redactor import Redactor
from nacre.tasks import Tasks
from nacre.toolcall import task_tools
from nacre.toolcall.arguments import ArgumentReader
from nacre.types import Access, Request

CHECK = "CheckCommand"
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
_TASK_TOOLS = {
    "TaskOutput": (_READS, output_schemas.ONE_TASK),
    "TaskList": (_READS, output_schemas.TASKS),
    "KillShell": (_ENDS, output_schemas.ONE_TASK),
}


class Tools:
    """Lists the tools of a server and answers their calls."""

    def __init__(self, settings: ServerSettings, bash: Bash, tasks: Tasks, runner: RunTool) -> None:
        self._settings, self._bash, self._tasks, self._runner = settings, bash, tasks, runner
        self._own = bash.profile.tool.name
        self.listed = [self._run_tool(), *self._task_tools(), self._wait_tool(), self._check_tool()]

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """Return the input schema of a tool; None if there is no such tool."""
        return next((tool.input_schema for tool in self.listed if tool.name == name), None)

    async def call(
        self, ctx: Any, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult | dict[str, Any]:
        """Answer a tool call. Raises MCPError for an unknown tool."""
        name, arguments = params.name, params.arguments or {}
        redactor = redactor_from(self._settings.context.secrets)
        try:
            check_text(params.meta)
        except NacreError as error:
            return error_result(error, redactor)
        if name == self._own:
            return await self._runner.run(ctx, params)
        try:
            if name in _TASK_TOOLS:
                return await self._about_tasks(name, arguments, redactor)
            if name == wait.NAME:
                return await wait.wait(arguments, self._tasks, self._settings.budget, redactor)
            if name == CHECK:
                return await asyncio.to_thread(self._check, arguments)
        except (NacreError, OSError) as error:
            return error_result(error, redactor)
        known = ", ".join(tool.name for tool in self.listed)
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {name!r:.60}. Use {known}.")

    def _run_tool(self) -> Tool:
        found = self._bash.definition(self._settings.context, dialect="mcp")
        budget = (
            f"Answers within {self._settings.budget:g} seconds: a command that takes longer keeps running as a "
            f"background task, and TaskOutput or {wait.NAME} waits for it."
        )
        return Tool(
            name=found["name"],
            description=f"{found['description']}\n\n{budget}",
            input_schema=found["inputSchema"],
            output_schema=output_schemas.select_answer_schema(self._bash.profile.view),
            annotations=hints(self._settings.access, partial=self._settings.context.allow_partial),
        )

    def _task_tools(self) -> list[Tool]:
        return [
            Tool(
                name=each["name"],
                description=each["description"],
                input_schema=self._within_budget(each["input_schema"]),
                output_schema=_TASK_TOOLS[each["name"]][1],
                annotations=_TASK_TOOLS[each["name"]][0],
            )
            for each in task_tools.definitions()
        ]

    def _within_budget(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Limit the `timeout` in a schema to the server's budget."""
        properties = schema["properties"]
        if "timeout" not in properties:
            return schema
        most = self._settings.budget
        timeout = {**properties["timeout"], "default": min(properties["timeout"]["default"], most), "maximum": most}
        return {**schema, "properties": {**properties, "timeout": timeout}}

    async def _about_tasks(self, name: str, arguments: Mapping[str, Any], redactor: Redactor) -> CallToolResult:
        given = dict(arguments)
        if name == "TaskOutput" and isinstance(asked := given.get("timeout"), int | float):
            given["timeout"] = min(asked, self._settings.budget)
        elif name == "TaskOutput" and self._settings.budget < _default_timeout():
            given["timeout"] = self._settings.budget
        reply = await task_tools.reply(name, given, self._tasks, secrets=self._settings.context.secrets)
        if reply.error:
            return to_result(reply.text, None, error=reply.error)
        return to_result(
            reply.text, {"text": reply.text, **await asyncio.to_thread(self._tasks_in, name, given, redactor)}
        )

    def _tasks_in(self, name: str, given: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
        """Return the task or tasks of a call as data."""
        if name == "TaskList":
            found = self._tasks.list(all=ArgumentReader(given).boolean("all", default=False))
            return {"tasks": redactor.mask_all([fields(task) for task in found[-task_tools.MAX_LISTED_TASKS :]])}
        task = self._tasks.get(task_tools.id_in(ArgumentReader(given)))
        return {"task": redactor.mask_all(fields(task))}

    def _wait_tool(self) -> Tool:
        return Tool(
            name=wait.NAME,
            description=wait.description(self._settings.budget),
            input_schema=wait.schema(self._settings.budget),
            output_schema=output_schemas.WAIT_RESULT,
            annotations=_READS,
        )

    def _check_tool(self) -> Tool:
        text = {"type": "string"}
        return Tool(
            name=CHECK,
            description=(
                "Say whether a shell command may run: allow, ask a person first, or refuse, with the rule, the reason "
                f"and what to do instead. Nothing is run; {self._own} also checks its commands itself."
            ),
            input_schema={
                "type": "object",
                "properties": {
                    "command": {**text, "description": "Shell text."},
                    "cwd": {**text, "description": "Where it would run; relative to the working directory."},
                    "env": {"type": "object", "additionalProperties": text, "description": "Variables it would get."},
                    "stdin": {**text, "description": "Its input: a script, where a shell would read it."},
                },
                "required": ["command"],
                "additionalProperties": False,
            },
            output_schema=output_schemas.VERDICT,
            annotations=_READS,
        )

    def _check(self, arguments: Mapping[str, Any]) -> CallToolResult:
        given = ArgumentReader(arguments)
        command, env = given.pop("command"), given.string_map("env") if given.has("env") else {}
        cwd, stdin = given.pop("cwd"), given.pop("stdin")
        given.reject_unknown()
        place = resolve_cwd(Request("true", cwd=cwd or None), self._settings.context)
        verdict = check(command, cwd=place, env=env, stdin=stdin, policy=self._bash.profile.policy)
        text = verdict.decision.value + ("" if verdict.allowed else f" ({verdict.rule}): {verdict.reason}")
        return to_result(text, verdict.to_dict())


def hints(access: Access, *, partial: bool) -> ToolAnnotations:
    """Return annotations with which clients decide whether to prompt a person before a call. `partial`: the network may
    be reachable although the access mode denies it."""
    return ToolAnnotations(
        read_only_hint=access == "restricted",
        destructive_hint=access != "restricted",
        idempotent_hint=False,
        open_world_hint=access == "unrestricted" or partial,
    )


def _default_timeout() -> float:
    """Return the default timeout of TaskOutput in seconds."""
    return float(task_tools.definitions()[0]["input_schema"]["properties"]["timeout"]["default"])
