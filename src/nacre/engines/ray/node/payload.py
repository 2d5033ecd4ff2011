"""What goes to a node and comes back, and how a plan that was made here is laid out there.

The plan travels without what is for this process only. The node lays its own environment below that of the plan, finds
its own bash, and has its own kernel confine the command: what was promised here and cannot be had there is not run.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from nacre.base.frozen import frozen, replace
from nacre.engines.ray.node.workspace import ShippedWorkspace
from nacre.environment import build_env, host_environment, login_environment
from nacre.errors import InvalidRequest
from nacre.keeper.client.events import FinalEvent
from nacre.planning.access import plan_sandbox
from nacre.planning.paths import resolve_cwd, resolve_workspace
from nacre.planning.plan import bash_path
from nacre.planning.validate import absolute
from nacre.result import TaskRef
from nacre.types import Plan, Request, ToolContext

MARK = "NACRE_ENGINE"
"""A variable that every command there has, unless it was to inherit nothing. It may do with it what it likes."""
_OF_RAY = "RAY_"
_OF_ITS_WORKERS = frozenset({"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONBREAKPOINT", "SPT_NOENV"})
"""Set by Ray for its own worker: a command is none."""


@frozen(kw_only=True)
class PlanContext:
    """What a plan alone does not tell."""

    ctx: ToolContext
    inherits: bool
    """The node's environment is laid below."""


@frozen(kw_only=True)
class RunPayload:
    """One run, as it travels."""

    id: str
    plan: Plan
    context: PlanContext
    reports_state: bool
    """The shell is to tell how it ended, and with what."""
    workspace: ShippedWorkspace | None = None


@frozen(kw_only=True)
class FinalMessage:
    """The last that a node says of a run."""

    event: FinalEvent | InvalidRequest
    """InvalidRequest: it cannot be carried out there, and was not begun."""
    task: TaskRef | None = None
    """What goes on there."""
    notes: tuple[str, ...] = ()
    exit_state: bytes = b""
    unenforced_rules: frozenset[str] = frozenset()
    """Rules that the kernel there has not enforced to the end."""


def make_sendable(ctx: ToolContext) -> ToolContext:
    """Without what belongs to this process."""
    allowed = tuple(absolute(path, "allowed_paths") for path in ctx.allowed_paths)
    return replace(
        ctx, cancel=None, approve=None, working_dir=None, workspace=resolve_workspace(ctx), allowed_paths=allowed
    )


def strip_local(plan: Plan) -> Plan:
    """Without what only this process reads, or what the node makes for itself."""
    return replace(
        plan,
        engine_data=None,
        redactor=None,
        sandbox_request=None,
        ruleset=b"",
        compared_paths=(),
        repositories=(),
        mounted=(),
        covered=(),
        notes=(),
        standby_ok=False,
    )


async def localise(sent: RunPayload) -> tuple[Plan, ToolContext, Mapping[str, str]]:
    """The plan as it is carried out here, its context, and what this node has laid below its environment.

    InvalidRequest: it cannot be."""
    plan, ctx, workspace = sent.plan, sent.context.ctx, sent.workspace
    below: dict[str, str] = {}
    if sent.context.inherits:
        inherited = await asyncio.to_thread(login_environment) if ctx.login_env else host_environment()
        own = {name: value for name, value in inherited.items() if not _is_of_ray(name)}
        below = build_env(own, env={}, pass_env=ctx.pass_env, secrets=ctx.secrets).values
        below = {name: value for name, value in below.items() if name not in plan.env and name not in plan.removed_env}
    cwd = plan.cwd
    if workspace is not None:
        cwd, ctx = workspace.node_path(cwd), workspace.context(ctx)
    lost, cwd = cwd, _nearest(cwd) if plan.reports_state else cwd  # else it could never leave it
    gone = f"The session's directory {lost} does not exist on this node; this command ran in {cwd}."
    cwd = resolve_cwd(Request("true", cwd=cwd), ctx)
    env = {**below, **plan.env, "PWD": cwd}
    confined = plan_sandbox(ctx, plan.limits, env)
    if confined is not None:
        missing = [name for name in plan.enforced if name not in confined.enforced]
        if missing:
            raise InvalidRequest(
                "access_unavailable",
                f"The kernel of this node cannot enforce what was promised ({', '.join(missing)}).",
                field="access",
                hint="Choose nodes that can, by label.",
            )
    there = replace(
        plan,
        bash=bash_path(),
        cwd=cwd,
        env=env,
        ruleset=b"" if confined is None else confined.ruleset,
        sandbox_request=None if confined is None else confined.request,
        compared_paths=() if confined is None else confined.compared_paths,
        writable_roots=() if confined is None else confined.writable_roots,
        repositories=() if confined is None else confined.repositories,
        mounted=() if confined is None else confined.mounted,
        covered=() if confined is None else confined.covered,
        own_code=() if confined is None else confined.own_code,
        notes=() if cwd == lost else (gone,),
        standby_ok=not (ctx.secrets or ctx.pass_env or plan.deferred) and not plan.reports_state,
    )
    return there, ctx, below


def _nearest(directory: str) -> str:
    """What is left of it."""
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    return directory


def _is_of_ray(name: str) -> bool:
    return name.startswith(_OF_RAY) or name in _OF_ITS_WORKERS


def translate_state(data: bytes, below: Mapping[str, str], workspace: ShippedWorkspace | None) -> bytes:
    """What a shell told there, for who does not know that node: its own variables left out, but those of them that were
    unset by name, and its directory as here."""
    entries = data.decode("utf-8", "surrogateescape").split("\0")
    known = {f"{name}={value}" for name, value in below.items()}
    kept = [entry for entry in entries if entry not in known]
    if workspace is not None:
        kept = [workspace.local_path(entry) if entry.startswith("/") else entry for entry in kept]
    if entries[-2:] == ["", ""]:  # it has told all
        names = {entry.partition("=")[0] for entry in entries}
        kept[-2:-2] = [name for name in below if name not in names]
    return "\0".join(kept).encode("utf-8", "surrogateescape")
