"""Access and limits as they were asked for in, what the kernel will enforce out.

Looks at the file system, changes nothing. `InvalidRequest`: it cannot be meant. `AccessUnavailable`: not here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from nacre.directories import workspace_of
from nacre.errors import InvalidRequest
from nacre.frozen import names_in
from nacre.profiles import Profile
from nacre.system import state_directory
from nacre.types import Limits, Network, StrPath, ToolContext
from nacre.validate import one_of, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.sandbox.kernel import Kernel
    from nacre.sandbox.plan import Enforceable, Wanted

_ACCESS = ("unrestricted", "workspace", "restricted")
_OF_WORKSPACE = ("network", "unix_sockets", "writable", "protected")
_OF_CONFINED = (*_OF_WORKSPACE, "hidden", "strict", "allow_partial")
_BEYOND_MACHINES = 2**60
_COSTS = ("memory", "cpu", "processes", "file_size", "open_files")


def has_scratch(ctx: ToolContext) -> bool:
    """Whether it gets a private TMPDIR."""
    return ctx.access == "workspace" or (ctx.access == "restricted" and not ctx.strict)


def confine(ctx: ToolContext, limits: Limits, env: Mapping[str, str], on: Kernel | None = None) -> Enforceable | None:
    """What the kernel will enforce, this one unless another is given; None for nothing. Nothing of it is loaded before
    somebody asks."""
    wanted = _wanted(ctx, env)
    if wanted is None:
        if all(getattr(limits, name) is None for name in _COSTS):
            return None
        from nacre.sandbox.plan import limited

        return limited(limits)
    from nacre.sandbox.kernel import kernel
    from nacre.sandbox.plan import enforceable

    enforced = enforceable(wanted, on or kernel(), limits)
    _check_roots(wanted)  # after what can be had nowhere here
    return enforced


def wanted_for(ctx: ToolContext, env: Mapping[str, str]) -> Wanted | None:
    """What was asked for, for an engine that enforces it by itself; None if anything may be done."""
    wanted = _wanted(ctx, env)
    if wanted is not None:
        _check_roots(wanted)
    return wanted


def _wanted(ctx: ToolContext, env: Mapping[str, str]) -> Wanted | None:
    access = one_of(ctx.access, _ACCESS, "access")
    _check_fits(ctx)
    if access == "unrestricted":
        return None
    from nacre.sandbox.plan import Wanted, caches_to_move
    from nacre.sandbox.workspace import around, look

    root = workspace_of(ctx)
    hidden = tuple(os.path.realpath(_placed(path, root, "hidden")) for path in ctx.hidden)
    workspace = None
    if access == "workspace":
        writable = [_writable(path, root) for path in ctx.writable]
        protected = [_placed(path, root, "protected") for path in ctx.protected]
        try:
            workspace = look(root, writable=writable, protected=protected, hidden=hidden)
        except OSError as error:  # a link became something else while it was followed
            raise InvalidRequest(
                "bad_workspace",
                f"The workspace cannot be made out: {error}.",
                field="working_dir",
                hint="Something changes it just now: end that, and try again.",
            ) from error
    return Wanted(
        access="workspace" if access == "workspace" else "restricted",
        network=_network(ctx.network),
        unix_sockets=ctx.unix_sockets,
        partial=ctx.allow_partial,
        workspace=workspace,
        hidden=hidden,
        around=around(hidden) if hidden else (),
        caches=() if workspace is None else caches_to_move(env, workspace),
    )


def _check_roots(wanted: Wanted) -> None:
    """What nacre itself keeps must be out of reach."""
    import tempfile  # loaded for the private TMPDIR anyway

    own = {
        "the directory for temporary files": (tempfile.gettempdir(), "TMPDIR"),
        "nacre's own state": (state_directory(), "XDG_STATE_HOME"),  # other commands are run by what is there
    }
    for root in () if wanted.workspace is None else wanted.workspace.roots:
        for what, (path, variable) in own.items():
            real = os.path.realpath(path)
            if real == root or real.startswith(root.rstrip("/") + "/"):
                raise InvalidRequest(
                    "bad_workspace",
                    f"The workspace {root!r} would hold {'everything' if root == '/' else f'{what}, {real}'}.",
                    field="working_dir",
                    hint=f"Start in a directory of its own, or set {variable} to a place outside it.",
                )


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


def _placed(path: StrPath, root: str, field: str) -> str:
    return os.path.normpath(os.path.join(root, os.path.expanduser(path_of(path, field))))


def _writable(path: StrPath, root: str) -> str:
    placed = _placed(path, root, "writable")
    if not os.path.exists(placed):
        raise InvalidRequest(
            "writable_missing",
            f"`writable` names {placed!r}, which does not exist.",
            field="writable",
            hint="Make it first, or name the directory above it.",
        )
    return placed


def limits_for(ctx: ToolContext, profile: Profile) -> Limits:
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
