"""`bash`, `bash_success` and `bash_sequence`: a context, a command and options in, BashResult out.

Every command is validated by the policy of the run itself, which no option can bypass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any

from nacre.base.frozen import frozen, replace
from nacre.bash import Bash
from nacre.compat.tachikoma.context import PrimitiveContext
from nacre.compat.tachikoma.errors import CommandFailed, Io, PathNotAllowed, PrimitiveError, Validation
from nacre.compat.tachikoma.options import BashOptions, OptionValues
from nacre.compat.tachikoma.validator import LOG, CommandValidator, log_refusal
from nacre.errors import InvalidRequest, KeeperFailed
from nacre.errors import PathNotAllowed as Outside
from nacre.profiles.tachikoma import EMPTY, BuiltinPattern, tachikoma
from nacre.redact.mask import mask
from nacre.result import Ended, Result, Started
from nacre.types import Request, ToolContext
from nacre.views.answers import answer
from nacre.views.answers.streams import NO_EXIT_CODE


@frozen(kw_only=True)
class ExecutionMetadata:
    """Facts about a run."""

    duration: float
    """Seconds."""
    operation_id: str
    primitive: str = "bash"
    stdout_left_out: int = 0
    """Bytes of stdout beyond the limit. `stderr_left_out` counts those of stderr."""
    stderr_left_out: int = 0
    task: str | None = None
    """Id of the task that keeps the leftovers of the command; None if there are none."""


@frozen(kw_only=True)
class BashResult:
    """The result of a command that ran."""

    exit_code: int
    """-1 if a signal or the timeout killed it."""
    stdout: str
    stderr: str
    timed_out: bool
    metadata: ExecutionMetadata


async def bash(ctx: PrimitiveContext, command: str, options: BashOptions | None = None) -> BashResult:
    """Run a command. Its outcome is the result; raise `PrimitiveError` if it was not run."""
    wanted = (options or BashOptions()).values
    if isinstance(command, str) and not command.strip():
        raise Validation(EMPTY)
    cwd = ctx.working_dir if wanted.working_dir is None else ctx.resolve_path(wanted.working_dir)
    if outside := ctx.find_outside(wanted.working_dir or cwd):
        _validate(command, wanted, ctx)
        raise PathNotAllowed(outside)
    request = Request(
        command,
        cwd=cwd,
        env=wanted.env_vars,
        clear_env=wanted.clear_env,
        timeout=inf if wanted.timeout is None else wanted.timeout,
        leftovers=wanted.leftovers,
    )
    added = tuple(each for each in wanted.blocked_commands if not isinstance(each, BuiltinPattern))
    tool = _tool(added, wanted.literal, wanted.max_output_size)
    here = replace(ctx.base, working_dir=ctx.working_dir, allowed_paths=ctx.allowed_paths)
    try:
        result = await _run_logged(tool, request, here, ctx.operation_id)
    except InvalidRequest as error:
        _validate(command, wanted, ctx)
        raise _failure(error, cwd) from error
    except KeeperFailed as error:
        raise Io(str(error)) from error
    return _result(answer(result, tool.profile.view).data, ctx)


async def bash_success(ctx: PrimitiveContext, command: str, options: BashOptions | None = None) -> BashResult:
    """Run a command like `bash`. Raise `CommandFailed` if it did not exit with 0."""
    result = await bash(ctx, command, options)
    if result.exit_code != 0:
        raise CommandFailed(result.exit_code, result.stderr, result)
    return result


async def bash_sequence(
    ctx: PrimitiveContext, commands: Sequence[str], options: BashOptions | None = None
) -> list[BashResult]:
    """Run commands in order, up to the first that does not exit with 0, and return the results of those that ran.

    Each is validated before it runs; a refused one raises, even if others have run.
    """
    if isinstance(commands, str):
        raise Validation(f"The commands are {commands!r}. Give a list of them.")
    results: list[BashResult] = []
    for command in commands:
        results.append(await bash(ctx, command, options))
        if results[-1].exit_code != 0:
            break
    return results


async def _run_logged(tool: Bash, request: Request, ctx: ToolContext, operation_id: str) -> Result:
    """Run a command and log its start and its end. A refused command did not run and is not logged."""
    extra = {"operation_id": operation_id}
    result: Result | None = None
    async for event in tool.stream(request, ctx):
        if isinstance(event, Started):
            LOG.debug("Executing command: %s", _Masked(request.command, ctx.secrets), extra=extra)
        elif isinstance(event, Ended):
            result = event.result
    assert result is not None, "a stream ends with Ended"
    if result.pid is not None:
        code = NO_EXIT_CODE if result.exit_code is None else result.exit_code
        LOG.debug("Command completed with exit code %d in %.3f s", code, result.duration, extra=extra)
    return result


@lru_cache(32)
def _tool(block: tuple[str, ...], literal: bool, max_output: int) -> Bash:
    return Bash(tachikoma(block=block, literal=literal, max_output=max_output))


def _result(data: Any, ctx: PrimitiveContext) -> BashResult:
    if problem := data.get("error"):
        raise log_refusal(problem["message"]) if problem["kind"] == "validation" else Io(problem["message"])
    metadata = ExecutionMetadata(**{**data["metadata"], "operation_id": ctx.operation_id})
    return BashResult(**{**data, "metadata": metadata})


def _validate(command: str, wanted: OptionValues, ctx: PrimitiveContext) -> None:
    """Raise if the command itself is invalid: for a call that will not run anyway, that error is reported first."""
    validator = CommandValidator(wanted.blocked_commands, literal=wanted.literal)
    validator.validate(command, cwd=ctx.working_dir, env=dict(wanted.env_vars))


def _failure(error: InvalidRequest, cwd: Path) -> PrimitiveError:
    if isinstance(error, Outside):  # a symbolic link was changed after the check
        return PathNotAllowed(cwd)
    return Io(str(error)) if error.code.startswith("cwd_") or error.code == "no_bash" else Validation(str(error))


class _Masked:
    """A command in a log message, masked only if the message is written."""

    def __init__(self, text: str, secrets: tuple[str, ...]) -> None:
        self._text, self._secrets = text, secrets

    def __str__(self) -> str:
        return mask(str(self._text), self._secrets)
