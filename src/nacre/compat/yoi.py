"""yoi's own interface: JSON text in, a summary and content out, or one of three errors.

    meta, tool = bash_tool("/repo", "/repo/.outputs")
    with tool:
        output = await tool.execute('{"command": "make test"}')

Long outputs are in files `bash-*.log` in the caller's directory until the tool is closed, or collected, or the program
ends. Each call is a shell of its own, and several may run at once.
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
    """A call that gave nothing back."""


class InvalidArgument(ToolError):
    """The model's mistake: `invalid Bash input: …`."""


class Internal(ToolError):
    """The tool's own: there is no place for the output, or it was closed."""


class ExecutionFailed(ToolError):
    """The system's: the command could not be started."""


@frozen
class ToolOutput:
    summary: str
    """`$ cmd`, and how it ended where that is not plain success."""
    content: str | None = None
    """What it printed, or the end of that below a line which names the file; None: nothing."""


@frozen(kw_only=True)
class ToolMeta:
    name: str
    description: str
    input_schema: dict[str, Any]


class BashTool:
    """`profile` and `context` say what else nacre is to do: rules, confinement, secrets."""

    def __init__(
        self, cwd: StrPath, output_dir: StrPath, *, profile: Profile = YOI, context: ToolContext | None = None
    ) -> None:
        context = context or ToolContext()
        directory = os.path.abspath(output_dir)
        mine = os.urandom(4).hex()
        """In the names of its files: those of a call that was cancelled half way are found, too."""
        owner = f"{mine}-{context.conversation_id}" if context.conversation_id else mine
        self._bash = Bash(profile)
        self._ctx = replace(context, working_dir=cwd, output_dir=directory, conversation_id=owner)
        self._files = directory, file_prefix(mine)
        self._cleaning = weakref.finalize(self, _remove, os.getpid(), *self._files)

    async def execute(self, input_json: str) -> ToolOutput:
        """Run one command. ToolError."""
        if self._is_closed():
            raise Internal("the tool is closed")
        self._check(input_json)
        try:
            answer = await self._bash.call(input_json, self._ctx)
        except NacreError as error:
            raise ExecutionFailed(f"spawn bash: {error}") from error
        finally:
            if self._is_closed():  # meanwhile
                _remove(os.getpid(), *self._files)
        if answer.error:
            raise _error(answer)
        if self._is_closed() and answer.data["output_file"] is not None:
            raise Internal("the tool was closed while the command ran: the file that its output names is gone")
        return ToolOutput(answer.data["summary"], answer.data["content"])

    def _check(self, input_json: str) -> None:
        """What can be wrong before anything runs."""
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
        """Remove the files."""
        self._cleaning()

    def __enter__(self) -> BashTool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def meta(self) -> ToolMeta:
        """What a model is told; also where nothing can run, because its directory is gone: `execute` says so."""
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
    tool = BashTool(cwd, output_dir, profile=profile, context=context)
    return tool.meta, tool


_PLACES = ("working_dir", "cwd")


def _error(answer: Answer) -> ToolError:
    """Whose mistake it was."""
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
    """The files of one tool; not by a fork of the program that made them."""
    if os.getpid() != owner:
        return
    with suppress(OSError):
        for name in os.listdir(directory):
            if name.startswith(begins) and name.endswith(".log"):
                with suppress(OSError):
                    os.unlink(os.path.join(directory, name))
