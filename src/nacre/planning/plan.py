"""Turn a request, its context and a profile into a plan; every invalid argument is found here.

Reads the file system, changes nothing. Raises `InvalidRequest`, with one code per mistake.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import cast

from nacre.environment import Environment, build_env, deferred_names
from nacre.errors import InvalidRequest
from nacre.planning.access import has_private_tmpdir, limits_for, plan_sandbox
from nacre.planning.paths import output_directory, resolve_cwd
from nacre.planning.pipestatus import can_report_pipestatus, pipeline_commands
from nacre.planning.validate import check_byte_count, check_choice, encode_text
from nacre.profiles import Profile
from nacre.redact.redactor import Redactor
from nacre.types import (
    NO_PROTECTED_PATHS,
    Leftovers,
    Lifetime,
    Limits,
    OutputLimits,
    Plan,
    Request,
    TaskPlan,
    Timing,
    ToolContext,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.sandbox.resolve import SandboxPlan

    Confines = Callable[[ToolContext, Limits, Mapping[str, str]], SandboxPlan | None]

_MODES = ("default", "slow", "background")
_LEFTOVERS = ("keep", "end", "detach", "wait")
_NO_TIMEOUT_FROM_S = 1e9
"""Seconds (about 30 years); a longer timeout means no timeout."""
_SUSPICIOUS_TIMEOUT_S = 1000
_MAX_PRINTED_NUMBER = 10**12
_NAME_MAX = 64
_MIN_LOG_BYTES = 64 * 1024
_LISTS = ("allowed_paths", "secrets", "pass_env", "writable", "protected", "unprotected", "hidden")


def plan_for(
    request: Request,
    ctx: ToolContext,
    profile: Profile,
    inherited: Mapping[str, str],
    by: Confines = plan_sandbox,
    start_in: Callable[[Request, ToolContext], str] = resolve_cwd,
) -> Plan:
    """Return the plan of a request, or raise InvalidRequest. `inherited`: the environment to start from. `by`: returns
    what will be enforced. `start_in`: returns the working directory.
    """
    text = _text(request.command)
    _check_lists(ctx)
    _check_grace(profile)
    cwd = start_in(request, ctx)
    timing, notes = _decide_times(request, profile)
    lifetime = _lifetime(request, timing)
    _check_stdin(request)
    leftovers = cast("Leftovers", check_choice(request.leftovers or profile.leftovers, _LEFTOVERS, "leftovers"))
    _check_env(request.env)
    environment = _environment(request, ctx, inherited)
    limits = limits_for(ctx, profile)
    confined = by(ctx, limits, environment.values)
    task = _task_plan(ctx, profile, limits)
    return Plan(
        request=request,
        text=text,
        bash=bash_path(),
        cwd=cwd,
        env={**environment.values, **_own_variables(environment, ctx, lifetime), "PWD": cwd},
        deferred=deferred_names(request.env),
        stdin=_stdin(request.stdin),
        open_stdin=bool(request.open_stdin),
        merge=bool(request.merge) or profile.merge or lifetime == "background",
        timing=timing,
        lifetime=lifetime,
        leftovers=leftovers,
        output=_output_limits(ctx, profile, limits, lifetime, task),
        task=task,
        standby_ok=not (request.env or ctx.pass_env or ctx.secrets),
        notes=notes,
        private_tmpdir=has_private_tmpdir(ctx),
        limits=limits,
        ruleset=None if confined is None else confined.ruleset,
        sandbox_request=None if confined is None else confined.request,
        enforced=() if confined is None else confined.enforced,
        protected=NO_PROTECTED_PATHS if confined is None else confined.protected,
        engine_data=None if confined is None else confined.engine_data,
        pipeline_commands=()
        if lifetime == "background" or not can_report_pipestatus(environment.values, limits.open_files)
        else pipeline_commands(request.command),
        redactor=Redactor(ctx.secrets, inherited, environment.values),
    )


def _decide_times(request: Request, profile: Profile) -> tuple[Timing, tuple[str, ...]]:
    """Return the times of a run, and a note if the requested timeout is over the profile's limit."""
    timeout, notes = _decide_timeout(request, profile)
    yield_after = _yield_after(request)
    if yield_after is not None and request.timeout is None:
        timeout = float("inf")  # the profile's timeout is for callers that wait until the end
    if request.mode != "background" and profile.on_timeout == "promote":
        yield_after, timeout = min(timeout, yield_after or timeout), float("inf")
    if yield_after is not None and yield_after >= timeout:
        yield_after = None
    return Timing(timeout=timeout, grace=profile.grace, yield_after=yield_after), notes


def _lifetime(request: Request, timing: Timing) -> Lifetime:
    if request.mode == "background":
        return "background"
    return "foreground" if timing.yield_after is None else "promotable"


def _own_variables(environment: Environment, ctx: ToolContext, lifetime: Lifetime) -> dict[str, str]:
    """Return the variables that nacre adds."""
    added = {"GIT_OPTIONAL_LOCKS": "0"} if ctx.access == "restricted" else {}
    if lifetime != "foreground" and "PYTHONUNBUFFERED" not in environment.values:
        added["PYTHONUNBUFFERED"] = "1"  # readers of its log expect output as soon as it is printed
    return added


def _task_plan(ctx: ToolContext, profile: Profile, limits: Limits) -> TaskPlan:
    return TaskPlan(
        log=profile.log if limits.log is None else check_byte_count(limits.log, "limits.log", least=_MIN_LOG_BYTES),
        log_name=profile.log_name,
        max_tasks=profile.tasks if limits.tasks is None else check_byte_count(limits.tasks, "limits.tasks"),
        directory=None if ctx.output_dir is None else output_directory(ctx.output_dir),
    )


def _output_limits(
    ctx: ToolContext, profile: Profile, limits: Limits, lifetime: Lifetime, task: TaskPlan
) -> OutputLimits:
    spill = profile.spill if limits.spill is None else check_byte_count(limits.spill, "limits.spill")
    return OutputLimits(
        memory=profile.output if limits.output is None else check_byte_count(limits.output, "limits.output"),
        spill=max(spill, task.log) if lifetime == "promotable" else spill,  # it may become the beginning of a log
        spill_dir=task.directory if ctx.spill_dir is None else output_directory(ctx.spill_dir, "spill_dir"),
        file_prefix=file_prefix(ctx.conversation_id),
    )


def redactor_for(request: Request, ctx: ToolContext, inherited: Mapping[str, str]) -> Redactor:
    """Return the redactor of a request that has no plan or result yet."""
    return Redactor(ctx.secrets, inherited, _environment(request, ctx, inherited).values)


def _environment(request: Request, ctx: ToolContext, inherited: Mapping[str, str]) -> Environment:
    return build_env(
        inherited, env=request.env, clear_env=request.clear_env, pass_env=ctx.pass_env, secrets=ctx.secrets
    )


def _text(command: str) -> bytes:
    if not isinstance(command, str):
        raise InvalidRequest(
            "bad_command",
            f"The command is a {type(command).__name__}, not a string.",
            field="command",
            hint="Pass shell text, for example 'ls -la'.",
        )
    if not command.strip():
        raise InvalidRequest("empty_command", "The command is empty.", field="command", hint="Give a shell command.")
    return encode_text(command, "command")


def _stdin(stdin: str | bytes | None) -> bytes | None:
    if stdin is None or isinstance(stdin, bytes):
        return stdin
    if not isinstance(stdin, str):
        raise InvalidRequest(
            "bad_stdin",
            f"`stdin` is a {type(stdin).__name__}.",
            field="stdin",
            hint="Pass text, bytes, or None for /dev/null.",
        )
    return encode_text(stdin, "stdin", nul_allowed=True)


def _check_lists(ctx: ToolContext) -> None:
    for field in _LISTS:
        value = getattr(ctx, field)
        if isinstance(value, str | bytes | os.PathLike):
            raise InvalidRequest(
                f"bad_{field}",
                f"`{field}` is {value!r}, not a sequence.",
                field=field,
                hint=f"Pass ({value!r},).",
            )


def _decide_timeout(request: Request, profile: Profile) -> tuple[float, tuple[str, ...]]:
    mode = check_choice(request.mode, _MODES, "mode")
    asked = request.timeout
    if asked is None:
        return float("inf") if mode == "background" else profile.slow_timeout if mode == "slow" else profile.timeout, ()
    most = float("inf") if mode == "background" else profile.max_timeout
    _check_seconds(asked, "timeout", f"Give seconds above 0 and up to {most:g}.")
    if asked > _NO_TIMEOUT_FROM_S and most > _NO_TIMEOUT_FROM_S:
        return float("inf"), ()
    if asked <= most:
        return float(asked), ()
    shown = f"{min(asked, 10.0**300):g}" if asked != float("inf") else "inf"
    note = f"The timeout of {shown} s is over the limit and was lowered to {profile.max_timeout:g} s."
    if _SUSPICIOUS_TIMEOUT_S <= asked < _MAX_PRINTED_NUMBER:
        note += f" If you meant milliseconds, pass {asked / 1000:g}."
    return profile.max_timeout, (note,)


def _yield_after(request: Request) -> float | None:
    asked = request.yield_after
    if asked is None:
        return None
    _check_seconds(asked, "yield_after", "Give seconds above 0.")
    if request.mode == "background":
        raise InvalidRequest(
            "bad_yield_after",
            "`yield_after` has no effect with mode='background', which starts a task at once.",
            field="yield_after",
            hint="Leave out one of them.",
        )
    return float(asked)


def _check_seconds(asked: object, field: str, hint: str) -> None:
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not asked > 0:  # NaN fails, too
        raise InvalidRequest(f"bad_{field}", f"`{field}` is {asked!r}.", field=field, hint=hint)


def _check_grace(profile: Profile) -> None:
    if not 0 <= profile.grace <= _NO_TIMEOUT_FROM_S:  # NaN fails, too
        raise InvalidRequest(
            "bad_grace",
            f"The grace period of profile {profile.name!r} is {profile.grace!r} seconds.",
            field="grace",
            hint="Give seconds from 0 up: Profile(grace=1.5).",
        )


def _check_stdin(request: Request) -> None:
    if request.open_stdin and (request.mode != "background" or request.stdin is not None):
        what = "with `stdin`" if request.mode == "background" else "without mode='background'"
        raise InvalidRequest(
            "bad_open_stdin",
            f"`open_stdin` has no effect {what}.",
            field="open_stdin",
            hint="Start a task with open_stdin=True, and write to it with Tasks.write.",
        )


def _check_env(env: Mapping[str, str]) -> None:
    if not isinstance(env, Mapping):
        raise InvalidRequest(
            "bad_env",
            f"`env` is a {type(env).__name__}, not a mapping.",
            field="env",
            hint='Pass a dict, for example {"NAME": "value"}.',
        )
    for name, value in env.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidRequest(
                "bad_env",
                f"The variable {name!r} is a {type(value).__name__}, not a string.",
                field="env",
                hint=f"Pass {str(value)!r}." if isinstance(value, int | float | os.PathLike) else "Pass strings only.",
            )
        if not name or "=" in name:
            raise InvalidRequest(
                "bad_env_name", f"{name!r} is not a valid variable name.", field="env", hint="Use a name without '='."
            )
        encode_text(name, "env")
        encode_text(value, "env")


def file_prefix(conversation: str) -> str:
    """Return the prefix of the names of a conversation's files."""
    safe = re.sub(r"[^\w.-]+", "_", conversation).encode("utf-8", "replace")[:_NAME_MAX].decode("utf-8", "ignore")
    return f"bash-{safe}" if safe else "bash"


def bash_path() -> str:
    """Return the path of bash. InvalidRequest: there is no bash on PATH."""
    path = _find_bash(os.environ.get("PATH", os.defpath))
    if path is None:
        raise InvalidRequest(
            "no_bash", "bash was not found on PATH.", field="command", hint="Install bash, or put it on PATH."
        )
    return path


@lru_cache(maxsize=8)  # importing `shutil` for `which` would take longer than importing all of this module
def _find_bash(path: str) -> str | None:
    for directory in path.split(os.pathsep):
        candidate = os.path.abspath(os.path.join(directory, "bash"))
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None
