"""Anthropic SDK: its `bash_20250124` tool over a session, and nacre's own tools, both for its tool runner.

    runner = client.beta.messages.tool_runner(model=…, messages=…, tools=[BashTool(), *task_tools()])

`BashTool` keeps directory and exported variables from call to call, and `restart` forgets them. Each call is still a
shell of its own, so there is nothing that could hang or be left behind. What needs a person's word goes to the
context's `approve`.
"""

from __future__ import annotations

from typing import Any

from nacre.adapters.extras import missing
from nacre.adapters.toolbox import Definition, Toolbox
from nacre.session import Session
from nacre.tool import Bash
from nacre.types import ToolContext
from nacre.views.answers import Answer

try:
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, ToolError
except ImportError as error:
    raise missing("anthropic", error) from error

_RESTARTED = "The session was restarted: its directory and variables are those of the beginning. Tasks go on."


class BashTool(BetaAsyncBuiltinFunctionTool):
    """The bash that the model was trained with: `command`, or `restart`."""

    def __init__(self, bash: Bash | None = None, ctx: ToolContext | None = None) -> None:
        self._bash = bash or Bash()
        self._ctx = ctx
        self.session = Session(self._bash, ctx)
        """Where it is now, and what it has exported."""

    def to_dict(self) -> Any:
        return {"type": "bash_20250124", "name": "bash"}

    async def call(self, input: object) -> str:
        given: Any = input
        if isinstance(given, dict):
            if given.get("restart"):
                self.session = Session(self._bash, self._ctx)
                return _RESTARTED
            given = {name: value for name, value in given.items() if name != "restart"}
        return _said(await self.session.call(given))


class _Tool(BetaAsyncBuiltinFunctionTool):
    def __init__(self, box: Toolbox, definition: Definition) -> None:
        self._box = box
        self._definition = definition

    def to_dict(self) -> Any:
        own = self._definition
        return {"name": own.name, "description": own.description, "input_schema": dict(own.schema)}

    async def call(self, input: object) -> str:
        given: Any = input
        return _said(await self._box.call(self._definition.name, given))


def tools(bash: Bash | None = None, ctx: ToolContext | None = None, *, tasks: bool = True) -> list[_Tool]:
    """nacre's own `Bash` and the tools for tasks."""
    box = Toolbox(bash, ctx, tasks=tasks)
    return [_Tool(box, each) for each in box.definitions]


def task_tools(ctx: ToolContext | None = None) -> list[_Tool]:
    """Only those for tasks, to go with `BashTool`."""
    box = Toolbox(None, ctx)
    return [_Tool(box, each) for each in box.definitions if each.name != box.name]


def _said(answer: Answer) -> str:
    """A call that cannot be meant is a result with `is_error`."""
    if answer.error:
        raise ToolError(answer.text)
    return answer.text
