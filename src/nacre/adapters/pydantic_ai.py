"""pydantic-ai: a toolset, and a backend for its workspaces.

    agent = Agent(model, toolsets=[NacreToolset(ctx=ToolContext(working_dir="."))])

A call that cannot be meant is a `ModelRetry`, within `max_retries`. What is refused is a failed result that costs no
retry: the model is to do something else, not the same again. With `approvals=True` what needs a person's word ends the
run with `DeferredToolRequests`, and runs when the run goes on with their approval. A result's metadata is the answer as
data.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

from nacre.adapters.extras import missing
from nacre.adapters.streams import streams
from nacre.adapters.toolbox import Approve, Toolbox
from nacre.errors import InvalidRequest
from nacre.frozen import replace
from nacre.profiles import DEFAULT, Profile
from nacre.result import Exited, Refused, Result, Signalled, TimedOut
from nacre.tool import Bash
from nacre.types import MIB, Request, StrPath, ToolContext
from nacre.verdict import Verdict

try:
    from pydantic_ai import ModelRetry, RunContext, ToolReturn
    from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_ai.workspaces import (
        CommandResult,
        WorkspaceCommand,
        WorkspaceError,
        WorkspaceOutputLimitError,
        WorkspaceRef,
        WorkspaceTimeoutError,
        WorkspaceUnavailableError,
    )
    from pydantic_core import SchemaValidator, core_schema
except ImportError as error:
    raise missing("pydantic-ai", error) from error

_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
"""What is in it, the tools themselves look at: they say more about it, and the same everywhere."""


class NacreToolset(AbstractToolset[Any]):
    def __init__(
        self,
        bash: Bash | None = None,
        ctx: ToolContext | None = None,
        *,
        tasks: bool = True,
        approvals: bool = False,
        max_retries: int = 3,
        id: str | None = None,
    ) -> None:
        self._box = Toolbox(bash, ctx, tasks=tasks)
        self._approvals = approvals
        self._max_retries = max_retries
        self._id = id

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {
            each.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=each.name, description=each.description, parameters_json_schema=dict(each.schema)
                ),
                max_retries=self._max_retries,
                args_validator=_OBJECT,
            )
            for each in self._box.definitions
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn:
        asked: list[Verdict] = []
        answer = await self._box.call(name, tool_args, approve=self._approve(ctx, asked))
        if asked and not ctx.tool_call_approved:
            raise ApprovalRequired(metadata=_matter(asked[0]))
        if answer.error and answer.result is None:
            raise ModelRetry(answer.text)
        if answer.error or (answer.result is not None and isinstance(answer.result.outcome, Refused)):
            raise ToolFailed(answer.text)
        return ToolReturn(return_value=answer.text, metadata=dict(answer.data))

    def _approve(self, ctx: RunContext[Any], asked: list[Verdict]) -> Approve | None:
        """None: as the context has it."""
        if not self._approvals or self._box.ctx.approve is not None:
            return None

        def approve(verdict: Verdict) -> bool:
            asked.append(verdict)
            return ctx.tool_call_approved

        return approve


def _matter(verdict: Verdict) -> dict[str, Any]:
    """What whoever approves has to see."""
    about: dict[str, Any] = {"rule": verdict.rule, "reason": verdict.reason}
    if verdict.matter is not None:
        about["command"] = verdict.matter.command
        about["cwd"] = verdict.matter.cwd
        about["given"] = [{"label": each.label, "text": each.text} for each in verdict.matter.given]
    return about


class NacreWorkspace:
    """A directory of this machine as a workspace backend: its commands are checked, confined and owned by nacre, and
    end with whoever waits for them. Files go through commands too, so that what confines those confines them."""

    def __init__(self, working_dir: StrPath, *, profile: Profile = DEFAULT, ctx: ToolContext | None = None) -> None:
        ctx = ctx or ToolContext()
        self._given = os.path.abspath(working_dir)
        self._bash = Bash(replace(profile, timeout=float("inf"), max_timeout=float("inf")))  # who wants one, says so
        self._limit = 10 * MIB if ctx.limits.output is None else ctx.limits.output
        self._ctx = replace(ctx, limits=replace(ctx.limits, output=self._limit, spill=0))

    @property
    def ref(self) -> WorkspaceRef:
        return WorkspaceRef(provider="nacre", id=self._given)

    async def working_dir(self) -> str:
        return self._place()

    def _place(self) -> str:
        place = os.path.realpath(self._given)
        if not os.path.isdir(place):
            raise WorkspaceUnavailableError(f"there is no directory {self._given}")
        return place

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        if isinstance(command, str) is not shell:
            raise TypeError("a string needs shell=True, a sequence of words shell=False")
        if cwd is not None and not os.path.isabs(cwd):
            raise ValueError(f"cwd is not absolute: {cwd!r}")
        place = self._place()
        text = command if isinstance(command, str) else shlex.join(command)
        request = Request(text, cwd=cwd, env=dict(env or {}), timeout=timeout)
        try:
            result = await self._bash.run(request, replace(self._ctx, working_dir=place))
        except InvalidRequest as error:
            raise (FileNotFoundError if error.field == "cwd" else ValueError)(str(error)) from error
        self._place()  # a result from a place that is gone is none
        return _completed(result, self._limit)


def _completed(result: Result, limit: int) -> CommandResult:
    """As the contract has it: an exit code of the command's own, and output that is whole; anything else raises."""
    said = streams(result)
    match result.outcome:
        case TimedOut(after):
            text = f"the command timed out after {after:g} s, and was ended with all that it had started"
            raise WorkspaceTimeoutError(text, stdout=said.stdout, stderr=said.stderr)
        case Exited() | Signalled():
            pass
        case _:
            raise WorkspaceError(said.stderr.strip())
    if result.out.dropped or result.err.dropped:
        text = f"the command printed {result.seen:,} bytes, more than can be returned"
        begun = {
            "stdout": result.out.head.decode("utf-8", "replace"),
            "stderr": result.err.head.decode("utf-8", "replace"),
        }
        raise WorkspaceOutputLimitError(text, limit=limit, **begun)
    return CommandResult(exit_code=said.code, stdout=said.stdout, stderr=result.err.masked(result.hidden))
