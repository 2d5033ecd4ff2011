"""Toolbox: the tools of one conversation, as every framework wants them. A call in, an Answer out. Knows no framework.

`Bash` in the words of its profile, and the three for tasks beside it. What cannot be meant is an answer with an error
code, never an exception; access that cannot be enforced here raises when the box is made. Log, audit trail and spans
name the adapter as who asked, unless the context has named somebody.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from nacre.approval.check import check
from nacre.base.frozen import frozen, replace
from nacre.bash import Bash
from nacre.errors import InvalidRequest
from nacre.toolcall import task_tools
from nacre.toolcall.parse import parse_request
from nacre.types import Request, ToolContext
from nacre.verdict import Decision, Verdict
from nacre.views.answers import Answer

Approve: TypeAlias = Callable[[Verdict], Awaitable[bool] | bool]


@frozen
class Definition:
    """One tool for a model."""

    name: str
    description: str
    schema: Mapping[str, Any]


def with_caller(caller: str, ctx: ToolContext | None) -> ToolContext:
    """The context of calls that this adapter makes."""
    ctx = ctx or ToolContext()
    return ctx if ctx.caller else replace(ctx, caller=caller)


class Toolbox:
    """`tasks=False`: without the tools that list, read and end background tasks."""

    def __init__(
        self, bash: Bash | None = None, ctx: ToolContext | None = None, *, caller: str = "", tasks: bool = True
    ) -> None:
        self.bash = bash or Bash()
        self.ctx = with_caller(caller, ctx)
        self.tasks = self.bash.engine.tasks(self.ctx.output_dir)
        own = self.bash.definition(self.ctx)
        self.name: str = own["name"]
        """What the profile calls the tool that runs commands."""
        every = [own, *(task_tools.definitions() if tasks else ())]
        self.definitions = [Definition(each["name"], each["description"], each["input_schema"]) for each in every]

    async def call(self, name: str, arguments: Mapping[str, Any] | str, *, approve: Approve | None = None) -> Answer:
        """`approve` stands in for the context's, for this call."""
        if name == self.name:
            return await self.bash.call(arguments, self.ctx if approve is None else replace(self.ctx, approve=approve))
        names = [each.name for each in self.definitions]
        if name not in names:
            text = f"Error (no_such_tool): There is no tool {name!r:.60}. Use {' or '.join(names)}."
            return Answer(text=text, data={"text": text}, error="no_such_tool")
        given: Any = _parse_arguments(arguments)
        said = await task_tools.reply(name, given, self.tasks, secrets=self.ctx.secrets)
        return Answer(text=said.text, data={"text": said.text}, error=said.error)

    def needs_approval(self, name: str, arguments: Mapping[str, Any] | str) -> Verdict | None:
        """What a person has to be asked before this call, for frameworks that ask ahead of it. The call checks anew."""
        if name != self.name:
            return None
        try:
            return self.request_needs_approval(parse_request(arguments, self.bash.profile))
        except InvalidRequest:
            return None  # the call says what is wrong with it

    def request_needs_approval(self, request: Request) -> Verdict | None:
        """The same of a request. `InvalidRequest`: it cannot be run there."""
        place = self.bash.engine.directory(request, self.ctx)
        verdict = check(request.command, cwd=place, env=request.env, policy=self.bash.profile.policy)
        return verdict if verdict.decision is Decision.ASK else None


def _parse_arguments(arguments: Mapping[str, Any] | str) -> Any:
    """What is no JSON stays what it is, and the tool says so."""
    if isinstance(arguments, str | bytes):
        with suppress(ValueError, RecursionError):
            return json.loads(arguments)
    return arguments
