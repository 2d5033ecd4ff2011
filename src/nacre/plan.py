"""Request, context and profile in, Plan out: everything that can be wrong with what was asked is found here.

Looks at the file system, changes nothing. Raises `InvalidRequest`, one code per mistake.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

from nacre.environment import build_env
from nacre.errors import InvalidRequest, PathNotAllowed
from nacre.frozen import names_in
from nacre.profiles import Profile
from nacre.types import Limits, Network, Plan, Request, StrPath, ToolContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.sandbox.plan import Enforceable

_MODES = ("default", "slow", "background")
_ACCESS = ("unrestricted", "workspace", "restricted")
_LEFTOVERS = ("keep", "end")
_LOOKS_LIKE_MILLISECONDS = 1000
_BEYOND_WORDS = 10**12
_BEYOND_MACHINES = 2**60
_NAME_MAX = 64
_LISTS = ("allowed_paths", "secrets", "pass_env", "writable", "protected", "hidden")
_OF_WORKSPACE = ("network", "writable", "protected")
_OF_CONFINED = (*_OF_WORKSPACE, "hidden", "strict", "allow_partial")
_COSTS = ("memory", "cpu", "processes", "file_size", "open_files")


def plan_for(request: Request, ctx: ToolContext, profile: Profile, inherited: Mapping[str, str]) -> Plan:
    """What will be done. `inherited` is the environment to start from."""
    text = _text(request.command)
    _check_lists(ctx)
    cwd = directory_for(request, ctx)
    timeout, remarks = _timeout(request, profile)
    leftovers = _one_of(request.leftovers or profile.leftovers, _LEFTOVERS, "leftovers")
    _check_env(request.env)
    environment = build_env(
        inherited, env=request.env, clear_env=request.clear_env, pass_env=ctx.pass_env, secrets=ctx.secrets
    )
    limits = _limits(ctx, profile)
    confined = _confined(ctx, cwd, limits, environment.values)
    quiet = {"GIT_OPTIONAL_LOCKS": "0"} if ctx.access == "restricted" else {}
    return Plan(
        text=text,
        bash=_bash(),
        cwd=cwd,
        env={**environment.values, **quiet, "PWD": cwd},
        stdin=_stdin(request.stdin),
        merge=bool(request.merge),
        timeout=timeout,
        grace=profile.grace,
        leftovers="keep" if leftovers == "keep" else "end",
        output=profile.output if limits.output is None else _size(limits.output, "limits.output"),
        spill=profile.spill if limits.spill is None else _size(limits.spill, "limits.spill"),
        spill_dir=None if ctx.output_dir is None else _output_directory(ctx.output_dir),
        spill_name=_spill_name(ctx.conversation_id),
        reusable=not (request.env or ctx.pass_env or ctx.secrets),
        remarks=remarks,
        confinement=b"" if confined is None else confined.confinement.encode(),
        scratch=ctx.access == "workspace" or (ctx.access == "restricted" and not ctx.strict),
        enforced=() if confined is None else confined.enforced,
        watched=() if confined is None else confined.watched,
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
    return _encoded(command, "command")


def _encoded(text: str, field: str, *, nul_allowed: bool = False) -> bytes:
    if "\0" in text and not nul_allowed:
        raise InvalidRequest(
            "nul_byte",
            f"`{field}` holds a NUL byte, which no shell can take.",
            field=field,
            hint="Remove it; use printf '\\0' in the command to produce one.",
        )
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "bad_text",
            f"`{field}` holds a lone surrogate at position {error.start}, which is no character.",
            field=field,
            hint="Decode the text properly before passing it on.",
        ) from error


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
    return _encoded(stdin, "stdin", nul_allowed=True)


def _confined(ctx: ToolContext, cwd: str, limits: Limits, env: Mapping[str, str]) -> Enforceable | None:
    """What the kernel will enforce; None for nothing. Nothing of it is loaded before somebody asks."""
    access = _one_of(ctx.access, _ACCESS, "access")
    _check_fits(ctx)
    if access == "unrestricted":
        if all(getattr(limits, name) is None for name in _COSTS):
            return None
        from nacre.sandbox.plan import limited

        return limited(limits)
    from nacre.sandbox.kernel import kernel
    from nacre.sandbox.plan import Wanted, caches_to_move, enforceable
    from nacre.sandbox.workspace import around, look

    hidden = tuple(os.path.realpath(_placed(path, cwd, "hidden")) for path in ctx.hidden)
    workspace = None
    if access == "workspace":
        writable = [_writable(path, cwd) for path in ctx.writable]
        protected = [_placed(path, cwd, "protected") for path in ctx.protected]
        try:
            workspace = look(cwd, writable=writable, protected=protected)
        except OSError as error:  # a link became something else while it was followed
            raise InvalidRequest(
                "bad_workspace",
                f"The workspace cannot be made out: {error}.",
                field="working_dir",
                hint="Something changes it just now: end that, and try again.",
            ) from error
        if "/" in workspace.roots:
            raise InvalidRequest(
                "bad_workspace",
                "The workspace would be '/', which is everything.",
                field="working_dir",
                hint="Start in a directory of its own, or use access='unrestricted'.",
            )
    wanted = Wanted(
        access="workspace" if access == "workspace" else "restricted",
        network=_network(ctx.network),
        partial=ctx.allow_partial,
        workspace=workspace,
        hidden=hidden,
        around=around(hidden) if hidden else (),
        caches=() if workspace is None else caches_to_move(env, workspace),
    )
    return enforceable(wanted, kernel(), limits)


def _check_fits(ctx: ToolContext) -> None:
    """An option that would have no effect is a misunderstanding, and a dangerous one."""
    idle = (
        _OF_CONFINED if ctx.access == "unrestricted" else _OF_WORKSPACE if ctx.access == "restricted" else ("strict",)
    )
    for name in idle:
        if getattr(ctx, name):
            raise InvalidRequest(
                f"bad_{name}",
                f"`{name}` has no meaning with access={ctx.access!r}.",
                field=name,
                hint="Leave it out, or use "
                + ("access='restricted'." if name == "strict" else "access='workspace'.")
                + (" `restricted` has no network at all." if name == "network" else ""),
            )


def _network(network: Network) -> Network:
    if isinstance(network, bool) or network == "loopback":
        return network
    ports = network if isinstance(network, tuple | list) else ()
    if not ports or not all(type(port) is int and 0 < port < 65536 for port in ports):
        raise InvalidRequest(
            "bad_network",
            f"`network` is {network!r}.",
            field="network",
            hint="Use True, False, 'loopback', or a tuple of ports such as (443, 80).",
        )
    return tuple(sorted(set(ports)))


def _placed(path: StrPath, cwd: str, field: str) -> str:
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(_path(path, field))))


def _writable(path: StrPath, cwd: str) -> str:
    placed = _placed(path, cwd, "writable")
    if not os.path.exists(placed):
        raise InvalidRequest(
            "writable_missing",
            f"`writable` names {placed!r}, which does not exist.",
            field="writable",
            hint="Make it first, or name the directory above it.",
        )
    return placed


def _limits(ctx: ToolContext, profile: Profile) -> Limits:
    """The caller's, and where he has none the profile's for this access."""
    given, own = ctx.limits, profile.limits.get(ctx.access, Limits())
    for name in _COSTS:
        value = getattr(given, name)
        kinds = (int, float) if name == "cpu" else (int,)
        if value is not None and (type(value) not in kinds or not 0 < value <= _BEYOND_MACHINES):
            raise InvalidRequest(
                "bad_limit",
                f"`limits.{name}` is {value!r}.",
                field=f"limits.{name}",
                hint="Give a number above 0." if name == "cpu" else "Give a whole number above 0.",
            )
    mixed = {name: getattr(given, name) for name in names_in(Limits)}
    return Limits(**{name: getattr(own, name) if value is None else value for name, value in mixed.items()})


def _check_lists(ctx: ToolContext) -> None:
    for field in _LISTS:
        value = getattr(ctx, field)
        if isinstance(value, str | bytes | os.PathLike):
            raise InvalidRequest(
                f"bad_{field}",
                f"`{field}` is {value!r}, where several are meant.",
                field=field,
                hint=f"Pass ({value!r},).",
            )


def _one_of(value: str, choices: tuple[str, ...], field: str) -> str:
    if value not in choices:
        raise InvalidRequest(
            f"bad_{field}", f"`{field}` is {value!r}.", field=field, hint=f"Use one of {', '.join(choices)}."
        )
    return value


def _timeout(request: Request, profile: Profile) -> tuple[float, tuple[str, ...]]:
    mode = _one_of(request.mode, _MODES, "mode")
    if mode == "background":
        raise InvalidRequest(
            "mode_unavailable",
            "Background tasks are not part of this version of nacre.",
            field="mode",
            hint="Use mode='slow', or start it with `&`: it is kept until this program ends.",
        )
    asked = request.timeout
    if asked is None:
        return (profile.slow_timeout if mode == "slow" else profile.timeout), ()
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not asked > 0:  # nor NaN
        raise InvalidRequest(
            "bad_timeout",
            f"`timeout` is {asked!r}.",
            field="timeout",
            hint=f"Give seconds above 0 and up to {profile.max_timeout:g}.",
        )
    if asked <= profile.max_timeout:
        return float(asked), ()
    shown = f"{min(asked, 10.0**300):g}" if asked != float("inf") else "inf"
    remark = f"The timeout of {shown} s is over the limit and was lowered to {profile.max_timeout:g} s."
    if _LOOKS_LIKE_MILLISECONDS <= asked < _BEYOND_WORDS:
        remark += f" If milliseconds were meant, ask for {asked / 1000:g}."
    return profile.max_timeout, (remark,)


def _size(value: int, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequest("bad_limit", f"`{field}` is {value!r}.", field=field, hint="Give a number of bytes.")
    return value


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
                "bad_env_name", f"{name!r} cannot name a variable.", field="env", hint="Use a name without '='."
            )
        _encoded(name, "env")
        _encoded(value, "env")


def _path(path: StrPath, field: str) -> str:
    try:
        given = os.fspath(path)
    except TypeError:
        given = None
    if not isinstance(given, str) or not given:
        raise InvalidRequest(f"bad_{field}", f"`{field}` is {path!r}.", field=field, hint="Give a path as a string.")
    _encoded(given, field)
    return given


def _absolute(path: StrPath, field: str) -> str:
    return os.path.abspath(_path(path, field))


def directory_for(request: Request, ctx: ToolContext) -> str:
    """Where it would start; InvalidRequest when it may not."""
    field = "working_dir" if request.cwd is None else "cwd"
    path = "" if request.cwd is None else _path(request.cwd, "cwd")
    if not os.path.isabs(path):
        base = here() if ctx.working_dir is None else _absolute(ctx.working_dir, "working_dir")
        path = os.path.join(base, path) if path else base
    path = os.path.normpath(path)
    if not os.path.isdir(path):
        there = os.path.lexists(path)
        raise InvalidRequest(
            "cwd_not_a_directory" if there else "cwd_missing",
            f"The working directory {path!r} {'is not a directory' if there else 'does not exist'}.",
            field=field,
            hint="Give a directory that exists.",
        )
    if not os.access(path, os.X_OK):
        raise InvalidRequest(
            "cwd_denied",
            f"The working directory {path!r} may not be entered by this user.",
            field=field,
            hint="Give a directory you may enter.",
        )
    if ctx.allowed_paths and not _is_allowed(path, ctx):
        allowed = ", ".join(os.fspath(allowed) for allowed in ctx.allowed_paths)
        raise PathNotAllowed(
            "path_not_allowed",
            f"The working directory {path!r} is outside the allowed paths.",
            field=field,
            hint=f"Allowed: {allowed}.",
        )
    return path


def here() -> str:
    """This process's own directory."""
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise InvalidRequest(
            "cwd_missing",
            "The current directory of this process no longer exists.",
            field="working_dir",
            hint="Give a working_dir that exists.",
        ) from error


def _output_directory(path: StrPath) -> str:
    """It may not exist yet."""
    directory = _absolute(path, "output_dir")
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise InvalidRequest(
            "bad_output_dir",
            f"`output_dir` is {directory!r}, which is not a directory.",
            field="output_dir",
            hint="Give a directory, or a path where one can be made.",
        )
    return directory


def _spill_name(conversation: str) -> str:
    safe = re.sub(r"[^\w.-]+", "_", conversation).encode("utf-8", "replace")[:_NAME_MAX].decode("utf-8", "ignore")
    return f"bash-{safe}" if safe else "bash"


def _is_allowed(path: str, ctx: ToolContext) -> bool:
    """Links are followed first: a link inside that points outside is outside."""
    real = os.path.realpath(path)
    for allowed in ctx.allowed_paths:
        root = os.path.realpath(_absolute(allowed, "allowed_paths"))
        if os.path.commonpath([root, real]) == root:
            return True
    return False


def _bash() -> str:
    path = _find_bash(os.environ.get("PATH", os.defpath))
    if path is None:
        raise InvalidRequest(
            "no_bash", "There is no bash on PATH.", field="command", hint="Install bash, or put it on PATH."
        )
    return path


@lru_cache(maxsize=8)  # `shutil.which` would take longer to load than all of this module
def _find_bash(path: str) -> str | None:
    for directory in path.split(os.pathsep):
        candidate = os.path.abspath(os.path.join(directory, "bash"))
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None
