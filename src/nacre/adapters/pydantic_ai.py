"""pydantic-ai: a toolset, and a backend for its workspaces.

    agent = Agent(model, toolsets=[NacreToolset(ctx=ToolContext(working_dir="."))])

An invalid call is a `ModelRetry`; more than `max_retries` in a row end the run. A refusal is a failed result that does
not count as a retry: the model should do something else, not try again. With `approvals=True`, a command that needs
approval ends the run with `DeferredToolRequests`, and runs when the run is resumed with an approval. The metadata of a
result is the answer as data.
"""

from __future__ import annotations

import asyncio
import math
import os
import shlex
import tempfile
from collections.abc import Mapping
from copy import copy
from typing import Any

from nacre.adapters.shared.output_limit import run_bounded
from nacre.adapters.shared.streams import read_streams
from nacre.adapters.shared.toolbox import Approve, Toolbox, missing_extra, with_caller
from nacre.base.frozen import replace
from nacre.bash import Bash
from nacre.errors import InvalidRequest
from nacre.result import Captured, Exited, Redacts, Refused, Result, Signalled, TimedOut
from nacre.types import KIB, MIB, Request, StrPath, ToolContext
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
    raise missing_extra("pydantic-ai", error) from error

CALLER = "pydantic-ai"
_PREVIEW_BYTES = 64 * KIB
"""Bytes at the start of a stream that are reported if it is too long."""
_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
"""Accepts any object. The tools validate the arguments themselves, with the same detailed errors in all adapters."""


class NacreToolset(AbstractToolset[Any]):
    """The `Bash` tool and the tools for background tasks.

    `tasks=False` leaves out the latter. `approvals=True` defers commands that need approval, unless the context has
    `approve`. `max_retries` limits invalid calls in a row. Raises AccessUnavailable if the access of `ctx` cannot be
    enforced on this machine.
    """

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
        self._box = Toolbox(bash, ctx, caller=CALLER, tasks=tasks)
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
        """Call a tool. Raises ApprovalRequired, ModelRetry for an invalid call, ToolFailed for a refusal."""
        asked: list[Verdict] = []
        answer = await self._box.call(name, tool_args, approve=self._approve(ctx, asked))
        if asked and not ctx.tool_call_approved:
            raise ApprovalRequired(metadata=_approval_request(asked[0]))
        if answer.error and answer.result is None:
            raise ModelRetry(answer.text)
        if answer.error or (answer.result is not None and isinstance(answer.result.outcome, Refused)):
            raise ToolFailed(answer.text)
        return ToolReturn(return_value=answer.text, metadata=dict(answer.data))

    def _approve(self, ctx: RunContext[Any], asked: list[Verdict]) -> Approve | None:
        """Return the function to approve with; None to use the context's `approve`."""
        if not self._approvals or self._box.ctx.approve is not None:
            return None

        def approve(verdict: Verdict) -> bool:
            asked.append(verdict)
            return ctx.tool_call_approved

        return approve


def _approval_request(verdict: Verdict) -> dict[str, Any]:
    """Return what the person who approves must see."""
    about: dict[str, Any] = {"rule": verdict.rule, "reason": verdict.reason}
    if verdict.approval_request is not None:
        about["command"] = verdict.approval_request.command
        about["cwd"] = verdict.approval_request.cwd
        about["given"] = [{"label": each.label, "text": each.text} for each in verdict.approval_request.inputs]
    return about


class NacreWorkspace:
    """A directory of this machine as a workspace backend. nacre checks and sandboxes its commands, and kills them when
    the caller stops waiting. File operations run as commands in the same sandbox.

    Without a `working_dir`, the first operation creates a directory. It is not removed.
    """

    def __init__(
        self, working_dir: StrPath | None = None, *, bash: Bash | None = None, ctx: ToolContext | None = None
    ) -> None:
        ctx = with_caller(CALLER, ctx)
        self._explicit_directory = None if working_dir is None else os.path.abspath(working_dir)
        self._resolved = ""
        self._bash = copy(bash or Bash())
        # no default timeout: callers set one per command
        self._bash.profile = replace(self._bash.profile, timeout=math.inf, max_timeout=math.inf)
        self._ctx = ctx
        self._max_bytes = 10 * MIB if ctx.limits.output is None else ctx.limits.output

    @property
    def ref(self) -> WorkspaceRef | None:
        """Reference to the directory; None until it exists."""
        return None if self._explicit_directory is None else WorkspaceRef(provider="nacre", id=self._explicit_directory)

    async def working_dir(self) -> str:
        return self._place()

    async def realpath(self, path: str) -> str:
        return await asyncio.to_thread(os.path.realpath, os.path.join(self._place(), path))

    def _place(self) -> str:
        if self._explicit_directory is None:
            self._explicit_directory = tempfile.mkdtemp(prefix="nacre-workspace-")
        self._resolved = self._resolved or os.path.realpath(self._explicit_directory)
        if not os.path.isdir(self._resolved):
            raise WorkspaceUnavailableError(f"no such directory: {self._explicit_directory}")
        return self._resolved

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Run a command and return its exit status and whole output.

        Raises WorkspaceOutputLimitError, WorkspaceTimeoutError, WorkspaceUnavailableError if the directory is gone,
        WorkspaceError if the command did not run to an exit status, TypeError or ValueError for invalid arguments.
        """
        if isinstance(command, str) is not shell:
            raise TypeError("a string needs shell=True, a sequence of words shell=False")
        if timeout is not None and math.isinf(timeout):
            raise ValueError("the timeout is infinite: leave it out")
        place = self._place()
        text = command if isinstance(command, str) else shlex.join(command)
        request = Request(text, env=dict(env or {}), timeout=timeout)
        try:
            result = await run_bounded(self._bash, request, replace(self._ctx, working_dir=place), self._max_bytes)
        except InvalidRequest as error:
            raise ValueError(str(error)) from error
        self._place()  # raises if the directory is gone: such a result is void
        return _to_command_result(result, self._max_bytes)


def _to_command_result(result: Result, most: int) -> CommandResult:
    """Convert a result as the contract demands: exit status and whole output, or an exception."""
    if max(result.out.total_bytes, result.err.total_bytes) > most:
        text = (
            f"the command was killed: it printed more than {most:,} bytes. Write its output to a file, and read parts "
            "of it"
        )
        begun = {"stdout": _beginning(result.out, result.redactor), "stderr": _beginning(result.err, result.redactor)}
        raise WorkspaceOutputLimitError(text, limit=most, **begun)
    said = read_streams(result)
    match result.outcome:
        case TimedOut(after):
            text = f"the command timed out after {after:g} s and was killed with everything it had started"
            raise WorkspaceTimeoutError(text, stdout=said.stdout, stderr=said.stderr)
        case Exited() | Signalled():
            return CommandResult(
                exit_code=said.code, stdout=said.stdout, stderr=result.err.masked_text(result.redactor)
            )
        case _:
            raise WorkspaceError(said.stderr.strip())


def _beginning(captured: Captured, redactor: Redacts | None) -> str:
    text = captured.head[:_PREVIEW_BYTES].decode("utf-8", "replace")
    return text if redactor is None else redactor.mask(text, ends_cut=True)
