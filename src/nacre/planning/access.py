"""Resolve the requested access and limits to what the kernel will enforce.

Reads the file system, changes nothing. `InvalidRequest`: a setting is invalid. `AccessUnavailable`: this machine cannot
enforce it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from nacre.base.frozen import field_names
from nacre.base.suggest import did_you_mean
from nacre.base.system import config_directory, state_directory
from nacre.base.temp_dir import NoTemporaryDirectory, temporary_directory
from nacre.errors import AccessUnavailable, InvalidRequest
from nacre.planning.paths import resolve_workspace
from nacre.planning.validate import absolute, check_choice, check_path
from nacre.profiles import Profile
from nacre.types import Limits, Network, StrPath, ToolContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.sandbox.mount_aliases import Mount
    from nacre.sandbox.probe import Kernel
    from nacre.sandbox.resolve import SandboxPlan, SandboxRequest

_ACCESS = ("unrestricted", "workspace", "restricted")
_WORKSPACE_SETTINGS = ("network", "unix_sockets", "writable", "protected", "unprotected")
_CONFINED_SETTINGS = (*_WORKSPACE_SETTINGS, "hidden", "strict", "allow_partial")
_MAX_LIMIT = 2**60
RESOURCE_LIMITS = ("memory", "cpu", "processes", "file_size", "open_files")


def has_private_tmpdir(ctx: ToolContext) -> bool:
    """Return whether a command with this context gets a private TMPDIR."""
    return ctx.access == "workspace" or (ctx.access == "restricted" and not ctx.strict)


def plan_sandbox(
    ctx: ToolContext, limits: Limits, env: Mapping[str, str], on: Kernel | None = None
) -> SandboxPlan | None:
    """Return what the kernel will enforce; None for an unrestricted command without limits.

    `on`: the kernel to plan for (None: this one). The sandbox modules are loaded only if they are needed.
    """
    wanted = _build_sandbox_request(ctx, env)
    if wanted is None:
        if all(getattr(limits, name) is None for name in RESOURCE_LIMITS):
            return None
        from nacre.sandbox.resolve import limits_only

        return limits_only(limits)
    from nacre.sandbox.probe import kernel, with_user_namespace
    from nacre.sandbox.resolve import resolve

    able = on or kernel()
    if wanted.own and on is None:
        able = with_user_namespace(able)
    enforced = resolve(wanted, able, limits)
    _check_roots(wanted, ctx)  # after `resolve`, which reports what this kernel cannot enforce at all
    return enforced


def sandbox_request(ctx: ToolContext, env: Mapping[str, str]) -> SandboxRequest | None:
    """Return the requested access, for an engine with its own sandbox; None for unrestricted access."""
    wanted = _build_sandbox_request(ctx, env)
    if wanted is not None:
        _check_roots(wanted, ctx)
    return wanted


def _build_sandbox_request(ctx: ToolContext, env: Mapping[str, str]) -> SandboxRequest | None:
    access = check_choice(ctx.access, _ACCESS, "access")
    _check_fits(ctx)
    if access == "unrestricted":
        return None
    from nacre.sandbox.mount_aliases import device_paths, paths_inside
    from nacre.sandbox.resolve import SandboxRequest, caches_to_move
    from nacre.sandbox.workspace import discover, list_tops, readable_siblings

    root = resolve_workspace(ctx)
    own_code: tuple[str, ...] = ()
    own_places: tuple[str, ...] = ()
    hidden = tuple(os.path.realpath(_resolve(path, root, "hidden")) for path in ctx.hidden)
    mounts = _mounts(needed=bool(hidden))
    hidden, exposed = _with_other_names(hidden, ctx, root, mounts)
    hidden += _other_mount_paths(hidden, root, mounts)
    devices = device_paths(mounts)
    workspace = None
    if access == "workspace":
        writable = [_writable(path, root) for path in ctx.writable]
        protected = [_resolve(path, root, "protected") for path in ctx.protected]
        try:
            unprotected = _check_unprotected(ctx.unprotected)
            own_code = _own_code((root, *writable), unprotected, partial=ctx.allow_partial)
            own_places = _own_directories(ctx, (root, *writable))
            protected += [*own_code, *own_places]
            workspace = discover(root, writable=writable, protected=protected, hidden=hidden, unprotected=unprotected)
            if mounted := paths_inside(workspace.protected, workspace.roots, mounts):
                protected += mounted
                workspace = discover(
                    root, writable=writable, protected=protected, hidden=hidden, unprotected=unprotected
                )
        except OSError as error:  # a link changed while it was followed
            raise InvalidRequest(
                "bad_workspace",
                f"The workspace cannot be resolved: {error}.",
                field="working_dir",
                hint="Another process may be changing it: stop that process and try again.",
            ) from error
    return SandboxRequest(
        access="workspace" if access == "workspace" else "restricted",
        network=_network(ctx.network),
        unix_sockets=ctx.unix_sockets,
        partial=ctx.allow_partial,
        workspace=workspace,
        hidden=hidden,
        exposed=exposed,
        readable_siblings=readable_siblings(hidden, devices) if hidden else (),
        top_directories=list_tops() if len(devices) == 1 else readable_siblings((), devices),
        own_code=own_code,
        own_directories=own_places,
        caches=() if workspace is None else caches_to_move(env, workspace),
    )


def _own_code(roots: tuple[str, ...], unprotected: tuple[str, ...], *, partial: bool) -> tuple[str, ...]:
    """Return the paths inside the roots that nacre itself runs from.

    AccessUnavailable: they cannot be protected there (not raised with `partial`).
    """
    from nacre.sandbox.own_code import find_own_code
    from nacre.sandbox.protected_names import OWN_CODE, is_unprotected
    from nacre.sandbox.resolve import own_code_exposed

    if is_unprotected(OWN_CODE, unprotected):
        return ()
    tops = [os.path.realpath(root) for root in roots]
    if "/" in tops:
        return ()  # `_check_roots` refuses "/" in any case, because of what it contains
    own = find_own_code(tops)
    if own.links and not partial:
        raise own_code_exposed(
            own.links[0], "That is a symlink, which cannot be a mount point: name its target instead."
        )
    if own.bytecode and not partial:
        raise own_code_exposed(
            own.bytecode[0],
            "Python loads bytecode from there, which no mount can protect: set PYTHONPYCACHEPREFIX to a directory "
            "outside the workspace.",
        )
    return own.paths


def _check_roots(wanted: SandboxRequest, ctx: ToolContext) -> None:
    """Raise InvalidRequest if a command could write to nacre's own directories."""
    roots = () if wanted.workspace is None else wanted.workspace.roots
    if roots:
        from nacre.sandbox.fixed_imports import fix_imports

        _check_directories(wanted, ctx, roots)
        fix_imports(roots, wanted.own_code)
    if not has_private_tmpdir(ctx):
        return  # it has no private TMPDIR and cannot write anywhere
    from nacre.sandbox.own_code import links_on_the_way
    from nacre.sandbox.workspace import is_below

    own = {
        "the directory for temporary files": (_private_tmpdir_parent(wanted.access), "TMPDIR"),
        "nacre's own state": (state_directory(), "XDG_STATE_HOME"),  # its files decide how other commands run
        "nacre's settings": (config_directory(), "XDG_CONFIG_HOME"),  # they can allow anything
    }
    for what, (path, variable) in own.items():
        real = os.path.realpath(path)
        links = links_on_the_way(os.path.abspath(path))
        for root in roots:
            # a command could replace a link by its own directory
            link = next((each for each in links if is_below(each, root)), None)
            if is_below(real, root):
                held = "everything" if root == "/" else f"{what}, {real}"
            elif link is not None:
                held = f"a symlink on the path to {what}, {link}"
            else:
                continue
            raise InvalidRequest(
                "bad_workspace",
                f"The workspace {root!r} would contain {held}.",
                field="working_dir",
                hint=f"Start in a separate directory, or set {variable} to a directory outside the workspace"
                f"{'' if link is None else ', without a symlink in it on the path'}.",
            )


def _private_tmpdir_parent(access: str) -> str:
    """Return the directory for private TMPDIRs. AccessUnavailable: there is none."""
    try:
        return temporary_directory()
    except NoTemporaryDirectory as error:
        raise AccessUnavailable(
            "access_unavailable",
            f"Access {access!r} gives a command a private TMPDIR, and {error.strerror}.",
            field="access",
            hint=error.hint,
        ) from error


def _output_directories(ctx: ToolContext) -> list[tuple[str, str]]:
    """Return the fields and paths of the directories for tasks and spilled output that the caller has set."""
    given = (("output_dir", ctx.output_dir), ("spill_dir", ctx.spill_dir))
    return [(field, absolute(path, field)) for field, path in given if path is not None]


def _own_directories(ctx: ToolContext, roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the output directories inside the writable roots that can be protected there."""
    from nacre.sandbox.workspace import is_below

    tops = [os.path.realpath(root) for root in roots]
    places = [os.path.realpath(path) for _, path in _output_directories(ctx)]
    inside = [path for path in places if os.path.isdir(path) and any(is_below(path, top) for top in tops)]
    return tuple(dict.fromkeys(path for path in inside if path not in tops))


def _check_directories(wanted: SandboxRequest, ctx: ToolContext, roots: tuple[str, ...]) -> None:
    """Raise InvalidRequest if a command could write to the directories of tasks and spilled output.

    It could forge a task that another process then kills, or redirect nacre's writes by a link.
    """
    from nacre.sandbox.own_code import links_on_the_way
    from nacre.sandbox.workspace import is_below

    for field, path in _output_directories(ctx):
        for place in (os.path.realpath(path), *links_on_the_way(path)):
            if any(is_below(place, root) for root in roots) and place not in wanted.own_directories:
                raise InvalidRequest(
                    f"bad_{field}",
                    f"`{field}` is {path!r}, which commands could change: {place!r} is in the workspace.",
                    field=field,
                    hint="Name a directory outside the workspace, or none for the default; or create one in the "
                    "workspace first (not a symlink), which is then protected.",
                )


def _check_fits(ctx: ToolContext) -> None:
    """Raise InvalidRequest for a setting without effect: the caller expects an effect, which can be dangerous."""
    idle = (
        _CONFINED_SETTINGS
        if ctx.access == "unrestricted"
        else _WORKSPACE_SETTINGS
        if ctx.access == "restricted"
        else ("strict",)
    )
    for name in idle:
        if getattr(ctx, name):
            raise InvalidRequest(
                f"bad_{name}",
                f"`{name}` has no effect with access={ctx.access!r}.",
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


def _resolve(path: StrPath, root: str, field: str) -> str:
    return os.path.normpath(os.path.join(root, os.path.expanduser(check_path(path, field))))


def _mounts(*, needed: bool) -> list[Mount]:
    """Return the mount table.

    Empty if /proc is not readable: then nothing is sandboxed either. InvalidRequest: not readable, but `needed`.
    """
    from nacre.sandbox.mount_aliases import read_mounts

    try:
        return read_mounts()
    except OSError as error:
        if not needed:
            return []
        raise InvalidRequest(
            "bad_hidden",
            f"Cannot check whether the hidden paths are also mounted elsewhere: {error}.",
            field="hidden",
            hint="Mount /proc, or leave `hidden` out.",
        ) from error


def _with_other_names(
    hidden: tuple[str, ...], ctx: ToolContext, root: str, mounts: list[Mount]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hidden files with their other hard links, and the files of which a hard link was not found.

    AccessUnavailable: there are such files, and the caller does not accept partial enforcement.
    """
    if not hidden:
        return (), ()
    from nacre.sandbox.hard_links import find_other_names

    near = [root, *(_resolve(path, root, "writable") for path in ctx.writable)]
    found, exposed = find_other_names(hidden, near, {mount.point for mount in mounts})
    if exposed and not ctx.allow_partial:
        raise AccessUnavailable(
            "hidden_has_other_names",
            f"Cannot hide {exposed[0]!r}: another hard link to it was not found, and the file could be read through "
            "that.",
            field="hidden",
            hint="Add its other hard links to `hidden` (`find / -xdev -samefile` lists them), or replace the file by "
            "a copy of itself; allow_partial=True hides only the known names.",
        )
    return (*hidden, *found), exposed


def _other_mount_paths(hidden: tuple[str, ...], root: str, mounts: list[Mount]) -> tuple[str, ...]:
    """Return the other mount paths of hidden files. InvalidRequest: one of them contains the workspace."""
    from nacre.sandbox.mount_aliases import other_paths
    from nacre.sandbox.workspace import is_below

    others = tuple(other_paths(hidden, mounts))
    for path in others:
        if is_below(os.path.realpath(root), path):
            raise InvalidRequest(
                "bad_hidden",
                f"A path in `hidden` is also mounted as {path!r}, which contains the workspace {root!r}.",
                field="hidden",
                hint="Hide less of it, or unmount one of the two.",
            )
    return others


def _check_unprotected(names: tuple[str, ...]) -> tuple[str, ...]:
    from nacre.sandbox.protected_names import known_names

    known = known_names() if names else ()
    for name in names:
        if name not in known:
            raise InvalidRequest(
                "bad_unprotected",
                f"`unprotected` names {name!r}, which is not a protected name.",
                field="unprotected",
                hint=did_you_mean(name, known, "docs/sandbox.md lists them: '.git', 'AGENTS.md', …", cutoff=0.75),
            )
    return tuple(name.rstrip("/") for name in names)


def _writable(path: StrPath, root: str) -> str:
    placed = _resolve(path, root, "writable")
    if not os.path.exists(placed):
        raise InvalidRequest(
            "writable_missing",
            f"`writable` names {placed!r}, which does not exist.",
            field="writable",
            hint="Create it first, or name its parent directory.",
        )
    return placed


def limits_for(ctx: ToolContext, profile: Profile) -> Limits:
    """Return the caller's limits, completed by the profile's limits for this access. InvalidRequest: one is invalid."""
    given, own = ctx.limits, profile.limits.get(ctx.access, Limits())
    for name in RESOURCE_LIMITS:
        value = getattr(given, name)
        kinds = (int, float) if name == "cpu" else (int,)
        if value is not None and (type(value) not in kinds or not 0 < value <= _MAX_LIMIT):
            raise InvalidRequest(
                "bad_limit",
                f"`limits.{name}` is {value!r}.",
                field=f"limits.{name}",
                hint="Give a number above 0." if name == "cpu" else "Give an integer above 0.",
            )
    mixed = {name: getattr(given, name) for name in field_names(Limits)}
    return Limits(**{name: getattr(own, name) if value is None else value for name, value in mixed.items()})
