"""The tools of one conversation, for any framework: a call in, an Answer out. Imports no framework.

These are `Bash`, as its profile names it, and the three tools for tasks. An invalid call is an answer with an error
code, never an exception; access that cannot be enforced on this machine raises when the Toolbox is created. Log, audit
trail and spans name the adapter as the caller, unless the context names another.
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
    """Name, description and input schema of one tool."""

    name: str
    description: str
    schema: Mapping[str, Any]


def with_caller(caller: str, ctx: ToolContext | None) -> ToolContext:
    """Return the context with `caller` set, unless it has one."""
    ctx = ctx or ToolContext()
    return ctx if ctx.caller else replace(ctx, caller=caller)


class Toolbox:
    """The tools of one conversation. `tasks=False` leaves out those that list, read and kill background tasks."""

    def __init__(
        self, bash: Bash | None = None, ctx: ToolContext | None = None, *, caller: str = "", tasks: bool = True
    ) -> None:
        self.bash = bash or Bash()
        self.ctx = with_caller(caller, ctx)
        self.tasks = self.bash.engine.tasks(self.ctx.output_dir)
        own = self.bash.definition(self.ctx)
        self.name: str = own["name"]
        """The profile's name for the tool that runs commands."""
        every = [own, *(task_tools.definitions() if tasks else ())]
        self.definitions = [Definition(each["name"], each["description"], each["input_schema"]) for each in every]

    async def call(self, name: str, arguments: Mapping[str, Any] | str, *, approve: Approve | None = None) -> Answer:
        """Call a tool by name. `approve` replaces that of the context for this call."""
        if name == self.name:
            return await self.bash.call(arguments, self.ctx if approve is None else replace(self.ctx, approve=approve))
        names = [each.name for each in self.definitions]
        if name not in names:
            text = f"Error (no_such_tool): Unknown tool: {name!r:.60}. Use {' or '.join(names)}."
            return Answer(text=text, data={"text": text}, error="no_such_tool")
        given: Any = _parse_arguments(arguments)
        said = await task_tools.reply(name, given, self.tasks, secrets=self.ctx.secrets)
        return Answer(text=said.text, data={"text": said.text}, error=said.error)

    def needs_approval(self, name: str, arguments: Mapping[str, Any] | str) -> Verdict | None:
        """Return the verdict if this call needs approval, for frameworks that ask before a call. The call checks
        again."""
        if name != self.name:
            return None
        try:
            return self.request_needs_approval(parse_request(arguments, self.bash.profile))
        except InvalidRequest:
            return None  # the call reports the error

    def request_needs_approval(self, request: Request) -> Verdict | None:
        """Return the verdict if this request needs approval. Raises InvalidRequest if it cannot be run in its
        directory."""
        place = self.bash.engine.directory(request, self.ctx)
        verdict = check(request.command, cwd=place, env=request.env, policy=self.bash.profile.policy)
        return verdict if verdict.decision is Decision.ASK else None


def _parse_arguments(arguments: Mapping[str, Any] | str) -> Any:
    """Decode JSON arguments. Invalid JSON is returned unchanged: the tool reports it."""
    if isinstance(arguments, str | bytes):
        with suppress(ValueError, RecursionError):
            return json.loads(arguments)
    return arguments


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """Return the error for a framework that is missing or has another version. It names the extra to install."""
    return ImportError(f"{error}. This adapter needs: pip install 'nacre[{extra}]'", name=error.name)
