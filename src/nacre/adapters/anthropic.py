"""Anthropic SDK: its `bash_20250124` tool with a session, and nacre's own tools, both for its asynchronous tool runner.

    runner = client.beta.messages.tool_runner(model=…, messages=…, tools=[BashTool(), *task_tools()])

`BashTool` keeps working directory and exported variables between calls. Each call still runs in a separate shell, so no
shell can hang. `restart` resets them and kills what still runs. Commands that need approval go to the context's
`approve`. An invalid call is a result with `is_error`; a refusal or a non-zero exit status is not.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from nacre.adapters.shared.toolbox import Definition, Toolbox, missing_extra, with_caller
from nacre.base.frozen import replace
from nacre.bash import Bash
from nacre.cancel import Cancel
from nacre.errors import InvalidRequest, NacreError
from nacre.session import Session
from nacre.toolcall.arguments import ArgumentReader
from nacre.types import ToolContext
from nacre.views.answers import Answer, error_answer

try:
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, ToolError
except ImportError as error:
    raise missing_extra("anthropic", error) from error

CALLER = "anthropic"
_RESTARTED = "The shell was restarted with its initial directory and variables."


class BashTool(BetaAsyncBuiltinFunctionTool):
    """The bash tool that the model was trained with: `command`, or `restart`. Use one per conversation; calls are
    serialised."""

    def __init__(self, bash: Bash | None = None, ctx: ToolContext | None = None) -> None:
        self._bash = bash or Bash()
        self._ctx = with_caller(CALLER, ctx)
        self._tasks = self._bash.engine.tasks(self._ctx.output_dir)
        self._turn = asyncio.Lock()
        self._begin()

    def _begin(self) -> None:
        self._switch, self._begun = Cancel(), list[str]()
        given = self._ctx.cancel
        self._forget = None if given is None else given.on_cancel(self._switch.cancel)
        self.session = Session(self._bash, replace(self._ctx, cancel=self._switch))
        """Current working directory and exported variables."""

    def to_dict(self) -> Any:
        return {"type": "bash_20250124", "name": "bash"}

    async def call(self, input: object) -> str:
        given: Any = input
        try:
            again = isinstance(given, dict) and ArgumentReader(given).boolean("restart", default=False)
        except InvalidRequest as error:
            return _content_of(error_answer(error))
        if again:
            return await self._restart(beside=bool(given.get("command")))
        if isinstance(given, dict):
            given = {name: value for name, value in given.items() if name != "restart"}
        session, begun = self.session, self._begun
        async with self._turn:
            answer = await session.call(given)
            if answer.result is not None and answer.result.task is not None:
                begun.append(answer.result.task.id)
        return _content_of(answer)

    async def _restart(self, *, beside: bool) -> str:
        switch, begun, forget = self._switch, self._begun, self._forget
        self._begin()  # first: even if the rest fails, the next call gets a new session
        if forget is not None:
            forget()
        switch.cancel()  # cancels the running call and those that wait
        async with self._turn:
            ended = [id for id in begun if await self._ends(id)]
        said = [_RESTARTED]
        if ended:
            said.append(f"Its running tasks were killed: {', '.join(ended)}.")
        if beside:
            said.append("The command given with `restart` was not run.")
        return " ".join(said)

    async def _ends(self, id: str) -> bool:
        with suppress(NacreError, OSError):
            return self._tasks.get(id).alive and not (await self._tasks.kill(id)).alive
        return False


class _Tool(BetaAsyncBuiltinFunctionTool):
    def __init__(self, box: Toolbox, definition: Definition) -> None:
        self._box = box
        self._definition = definition

    def to_dict(self) -> Any:
        own = self._definition
        return {"name": own.name, "description": own.description, "input_schema": dict(own.schema)}

    async def call(self, input: object) -> str:
        given: Any = input
        return _content_of(await self._box.call(self._definition.name, given))


def tools(bash: Bash | None = None, ctx: ToolContext | None = None, *, tasks: bool = True) -> list[_Tool]:
    """Return nacre's own `Bash` tool and, unless `tasks=False`, the tools for background tasks. Raises
    AccessUnavailable if the access of `ctx` cannot be enforced on this machine."""
    box = Toolbox(bash, ctx, caller=CALLER, tasks=tasks)
    return [_Tool(box, each) for each in box.definitions]


def task_tools(ctx: ToolContext | None = None) -> list[_Tool]:
    """Return only the tools for background tasks, to use with `BashTool`."""
    box = Toolbox(None, ctx, caller=CALLER)
    return [_Tool(box, each) for each in box.definitions if each.name != box.name]


def _content_of(answer: Answer) -> str:
    """Return the text of an answer. Raises ToolError if the call was invalid: the SDK sets `is_error` for it."""
    if answer.error:
        raise ToolError(answer.text)
    return answer.text
