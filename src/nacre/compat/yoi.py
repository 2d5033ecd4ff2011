"""The interface of yoi's bash tool: JSON text in, a summary and content out, or one of three errors.

    meta, tool = bash_tool("/repo", "/repo/.outputs")
    with tool:
        output = await tool.execute('{"command": "make test"}')

Long outputs are in files `bash-*.log` in the caller's directory until the tool is closed or garbage-collected, or the
program exits. Each call starts a new shell, and several calls may run at once.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import Any

from nacre.base.frozen import frozen, replace
from nacre.bash import Bash
from nacre.errors import InvalidRequest, NacreError
from nacre.planning.plan import file_prefix
from nacre.profiles.profile import Profile
from nacre.profiles.yoi import YOI
from nacre.result import Lost, NotStarted, Result
from nacre.toolcall.parse import parse_request
from nacre.toolcall.schema import definition
from nacre.types import StrPath, ToolContext
from nacre.views.answers import Answer


class ToolError(NacreError):
    """A call that has no output to return."""


class InvalidArgument(ToolError):
    """The model's mistake: `invalid Bash input: …`."""


class Internal(ToolError):
    """The tool's failure: it has no directory for the output, or it was closed."""


class ExecutionFailed(ToolError):
    """The system's failure: the command could not be started."""


@frozen
class ToolOutput:
    """The result of a call."""

    summary: str
    """`$ cmd`, and the outcome unless that is plain success."""
    content: str | None = None
    """The output, or its end below a line that names the file; None if there is none."""


@frozen(kw_only=True)
class ToolMeta:
    """Definition of the tool for a model."""

    name: str
    description: str
    input_schema: dict[str, Any]


class BashTool:
    """Run commands from JSON input. `profile` and `context` set what else nacre does: rules, sandbox, secrets."""

    def __init__(
        self, cwd: StrPath, output_dir: StrPath, *, profile: Profile = YOI, context: ToolContext | None = None
    ) -> None:
        context = context or ToolContext()
        directory = os.path.abspath(output_dir)
        mine = os.urandom(4).hex()
        """Unique part of its file names: files of calls that were cancelled half-way are found, too."""
        owner = f"{mine}-{context.conversation_id}" if context.conversation_id else mine
        self._bash = Bash(profile)
        self._ctx = replace(context, working_dir=cwd, output_dir=directory, conversation_id=owner)
        self._files = directory, file_prefix(mine)
        self._cleaning = weakref.finalize(self, _remove, os.getpid(), *self._files)

    async def execute(self, input_json: str) -> ToolOutput:
        """Run one command. Raise ToolError if there is no output to return."""
        if self._is_closed():
            raise Internal("the tool is closed")
        self._check(input_json)
        try:
            answer = await self._bash.call(input_json, self._ctx)
        except NacreError as error:
            raise ExecutionFailed(f"spawn bash: {error}") from error
        finally:
            if self._is_closed():  # closed meanwhile
                _remove(os.getpid(), *self._files)
        if answer.error:
            raise _error(answer)
        if self._is_closed() and answer.data["output_file"] is not None:
            raise Internal("the tool was closed while the command ran: the file that its output names is gone")
        return ToolOutput(answer.data["summary"], answer.data["content"])

    def _check(self, input_json: str) -> None:
        """Raise for every error that can be known before anything runs."""
        tool = self._bash.profile.tool
        try:
            parse_request(input_json, self._bash.profile)
        except InvalidRequest as error:
            raise InvalidArgument(f"{tool.error_text}{error}") from error
        directory = self._files[0]
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
        except OSError as error:
            raise Internal(f"create bash output dir {directory}: {error.strerror}") from error
        if not os.access(directory, os.W_OK | os.X_OK):
            raise Internal(f"output tempfile: {directory} cannot be written")

    def _is_closed(self) -> bool:
        return not self._cleaning.alive

    def close(self) -> None:
        """Remove the output files."""
        self._cleaning()

    def __enter__(self) -> BashTool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def meta(self) -> ToolMeta:
        """Name, description and schema for a model; also if nothing can run because the directory is gone: `execute`
        reports that."""
        try:
            return ToolMeta(**self._bash.definition(self._ctx))
        except InvalidRequest as error:
            if error.field not in _PLACES:
                raise
        tool = self._bash.profile.tool
        return ToolMeta(**definition(tool, tool.description, "anthropic"))


def bash_tool(
    cwd: StrPath, output_dir: StrPath, *, profile: Profile = YOI, context: ToolContext | None = None
) -> tuple[ToolMeta, BashTool]:
    """Return a new `BashTool` and its metadata."""
    tool = BashTool(cwd, output_dir, profile=profile, context=context)
    return tool.meta, tool


_PLACES = ("working_dir", "cwd")


def _error(answer: Answer) -> ToolError:
    """Return the error as an exception whose class says whether the model, the tool or the system caused it."""
    match answer.result:
        case Result(outcome=NotStarted(reason)):
            return ExecutionFailed(f"spawn bash: {reason}")
        case Result(outcome=Lost(reason)):
            return ExecutionFailed(f"bash wait: {reason}")
    about = answer.data["error"]
    if about["code"] == "no_bash" or about["field"] in _PLACES:
        return ExecutionFailed(f"spawn bash: {about['message']}")
    if about["field"] in ("", "command", "timeout"):
        return InvalidArgument(answer.text)
    return Internal(f"{about['message']} {about['hint']}")


def _remove(owner: int, directory: str, begins: str) -> None:
    """Remove the files of one tool, unless this process is a fork of the one that made them."""
    if os.getpid() != owner:
        return
    with suppress(OSError):
        for name in os.listdir(directory):
            if name.startswith(begins) and name.endswith(".log"):
                with suppress(OSError):
                    os.unlink(os.path.join(directory, name))
