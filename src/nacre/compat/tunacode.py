"""The interface of tunacode's bash tool: the async function `bash`, `ModelRetry`, `BashData`, the parser and the
renderer.

`bash` returns a `BashText`, a string that carries its data, so that nothing has to be parsed. Errors that a model can
correct raise `ModelRetry`: pydantic-ai's if that is installed (imported on first use), else an equivalent class.
Importing this module does not load the rest of nacre; the first call does.
"""

from __future__ import annotations

import os
from collections.abc import Coroutine
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from nacre.base.frozen import frozen
from nacre.errors import InvalidRequest, NacreError

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

    from nacre.bash import Bash
    from nacre.result import Result
    from nacre.types import ToolContext
    from nacre.views.answers import Answer

    class ModelRetry(Exception):  # for type checkers; `__getattr__` finds the real one
        message: str

        def __init__(self, message: str) -> None: ...

    MAX_COMMAND_OUTPUT: int
    LOCAL_MAX_COMMAND_OUTPUT: int
    COMMAND_OUTPUT_THRESHOLD: int
    COMMAND_OUTPUT_START_INDEX: int
    COMMAND_OUTPUT_END_SIZE: int
    CMD_OUTPUT_TRUNCATED: str


__all__ = [
    "CMD_OUTPUT_TRUNCATED",
    "COMMAND_OUTPUT_END_SIZE",
    "COMMAND_OUTPUT_START_INDEX",
    "COMMAND_OUTPUT_THRESHOLD",
    "EXECUTE_TOOLS",
    "LOCAL_MAX_COMMAND_OUTPUT",
    "MAX_COMMAND_OUTPUT",
    "READ_ONLY_TOOLS",
    "BashData",
    "BashText",
    "ModelRetry",
    "ShellNotFound",
    "ToolName",
    "bash",
    "make_bash",
    "parse",
    "render",
]


class ToolName(StrEnum):
    """Names of the tools in this module."""

    BASH = "bash"


EXECUTE_TOOLS = (ToolName.BASH,)
READ_ONLY_TOOLS: tuple[ToolName, ...] = ()


class ShellNotFound(NacreError, FileNotFoundError):
    """There is no bash on this system: an error that a model cannot correct."""


@frozen
class BashData:
    """The content of a report."""

    command: str
    exit_code: int
    """Exit status; the negative signal number if the shell was killed."""
    working_dir: str
    stdout: str
    stderr: str
    is_truncated: bool
    """True if the text does not contain all of the output."""
    timeout: int | None
    """Seconds; None: no limit."""


class BashText(str):
    """The report as a string, with the data that it was made of."""

    data: BashData
    """The parsed report, with the whole of both streams as far as they were captured."""
    result: Result
    """The full result of the run."""

    def __new__(cls, text: str, data: BashData | None = None, result: Result | None = None) -> BashText:
        self = super().__new__(cls, text)
        if data is not None and result is not None:  # copies and pickles restore them as state
            self.data, self.result = data, result
        return self


class BashFunction(Protocol):
    def __call__(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout: int | None = 30,
        capture_output: bool = True,
    ) -> Coroutine[Any, Any, str]: ...


def make_bash(
    *, local_mode: bool = False, strict_characters: bool = True, literal: bool = False, ctx: ToolContext | None = None
) -> BashFunction:
    """Return a `bash` function, configured like `nacre.profiles.tunacode.tunacode`.

    `ctx` is the context of the host: working directory, cancel token, access, secrets.
    """

    @cache
    def tool() -> Bash:
        from nacre.bash import Bash
        from nacre.profiles.tunacode import tunacode

        return Bash(tunacode(local_mode=local_mode, strict_characters=strict_characters, literal=literal))

    async def bash(
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout: int | None = 30,
        capture_output: bool = True,
    ) -> str:
        where = os.fspath(cwd) if isinstance(cwd, os.PathLike) else cwd
        arguments = {"command": command, "cwd": where, "env": env, "timeout": timeout, "capture_output": capture_output}
        return _to_bash_text(await tool().call(arguments, ctx), timeout)

    bash.__doc__ = _DOC.format(strict=_STRICT if strict_characters else "")
    bash.__qualname__ = "bash"
    return bash


_DOC = """Run a shell command with bash, and return its exit code, stdout and stderr as text.

Each call has a fresh shell, without a terminal; stdin is empty.{strict} Recursive deletes, `sudo rm`, `dd if=`, and
whatever formats, divides or overwrites disks are refused.

Args:
    command: The bash command to execute.
    cwd: Working directory for the command; without it the current one.
    env: Additional environment variables.
    timeout: Seconds until it is killed, from 1 to 300; None for no limit.
    capture_output: False lets the output through to the user's screen, and the text has none of it.

Returns:
    Command, exit code, working directory, stdout and stderr; cut in the middle where it is long.
"""
_STRICT = """ One simple command at a time, or a
pipeline: `;`, `&` and backquotes are refused, and so are `$` and braces except in `$VAR` and `${VAR}`."""

_OF_THE_MODEL = ("", "command", "cwd", "env", "timeout", "capture_output")


def _to_bash_text(answer: Answer, timeout: int | None) -> BashText:
    result, data = answer.result, answer.data
    if result is None:
        error = InvalidRequest(answer.error, **{key: data["error"][key] for key in ("message", "field", "hint")})
        if error.code == "no_bash":
            raise ShellNotFound(str(error)) from error
        if error.field.partition(".")[0] not in _OF_THE_MODEL:
            raise error  # an option of the host is invalid
        raise _model_retry()(answer.text)
    if data["exit_code"] is None:
        raise _model_retry()(answer.text)
    told = {name: data[name] for name in BashData.__match_args__ if name != "timeout"}
    return BashText(answer.text, BashData(**told, timeout=None if timeout is None else int(timeout)), result)


def parse(text: str, *, timeout: int | None = 30) -> BashData | None:
    """Return the data of a report, parsed from its text; None if it is not a report. Prefer the `data` of a `BashText`.

    Exact if the text was not cut and no line of a stream is a heading of the report; single headings in stdout do no
    harm. The text does not contain the timeout, so it is taken from the argument.
    """
    from nacre.profiles.tunacode import LOCAL, STANDARD
    from nacre.views.answers.report_parser import parse_report

    found = parse_report(text, STANDARD, LOCAL)
    if found is None:
        return None
    told = {name: getattr(found, name) for name in BashData.__match_args__ if name != "timeout"}
    return BashData(**told, timeout=timeout)


def render(result: str | BashData, *, timeout: int | None = 30, duration_ms: float | None = None) -> ConsoleRenderable:
    """Return the four zones of the result, for a rich console to print.

    `timeout` and `duration_ms` are for callers with a plain string. A text that is not a report is rendered as it is.
    """
    from nacre.views.panels.four_zones import FourZones, plain_text

    data = result if isinstance(result, BashData) else getattr(result, "data", None)
    if data is None:
        data = parse(str(result), timeout=timeout)
    if data is None:
        return plain_text(str(result))
    if isinstance(result, BashText) and duration_ms is None:
        duration_ms = result.result.duration * 1000
    return FourZones(
        command=data.command,
        exit_code=data.exit_code,
        cwd=data.working_dir,
        timeout=data.timeout,
        stdout=data.stdout,
        stderr=data.stderr,
        truncated=data.is_truncated,
        duration_ms=duration_ms,
    )


class _ModelRetry(Exception):
    """Message that tells the model what to correct before it tries again."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and other.message == self.message

    def __hash__(self) -> int:
        return hash((type(self), self.message))


_ModelRetry.__name__ = _ModelRetry.__qualname__ = "ModelRetry"  # the public name, also in pickles


@cache
def _model_retry() -> type[ModelRetry]:
    try:
        found: type[ModelRetry] = import_module("pydantic_ai.exceptions").ModelRetry
    except (ImportError, AttributeError):
        return cast("type[ModelRetry]", _ModelRetry)
    return found


def _limits() -> dict[str, int | str]:
    """Return the constants of tunacode's specification, from the profile and its view."""
    from nacre.profiles.tunacode import LOCAL, STANDARD
    from nacre.views.answers.report import MARK

    return {
        "MAX_COMMAND_OUTPUT": STANDARD.most,
        "LOCAL_MAX_COMMAND_OUTPUT": LOCAL.most,
        "COMMAND_OUTPUT_THRESHOLD": STANDARD.truncate_above,
        "COMMAND_OUTPUT_START_INDEX": STANDARD.start,
        "COMMAND_OUTPUT_END_SIZE": STANDARD.end,
        "CMD_OUTPUT_TRUNCATED": MARK,
    }


def __getattr__(name: str) -> Any:
    """Return attributes that are computed on first use."""
    if name == "ModelRetry":
        return _model_retry()
    if name in __all__:
        return _limits()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


bash = make_bash()
