"""Messages to a node and back, and the adaptation of a plan to the node.

A plan is sent without what only this process needs. The node puts its own environment below the plan's, finds its own
bash, and sandboxes the command by its own kernel. A command is not run if the node cannot enforce what was promised.
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
from nacre.types import NO_PROTECTED_PATHS, Plan, Request, ToolContext

MARK = "NACRE_ENGINE"
"""Variable that every command on a node has, unless it inherits nothing. The command may change it."""
_OF_RAY = "RAY_"
_OF_ITS_WORKERS = frozenset({"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONBREAKPOINT", "SPT_NOENV"})
"""Set by Ray for its own workers, not for commands."""


@frozen(kw_only=True)
class PlanContext:
    """Facts that a node needs beyond the plan."""

    ctx: ToolContext
    inherits: bool
    """Put the node's environment below the plan's."""


@frozen(kw_only=True)
class RunPayload:
    """One run, as it is sent to a node."""

    id: str
    plan: Plan
    context: PlanContext
    reports_state: bool
    """The shell reports its exit state."""
    workspace: ShippedWorkspace | None = None


@frozen(kw_only=True)
class FinalMessage:
    """The last message of a node about a run."""

    event: FinalEvent | InvalidRequest
    """InvalidRequest: the node refused the run, which has not begun."""
    task: TaskRef | None = None
    """The task that keeps running there."""
    notes: tuple[str, ...] = ()
    exit_state: bytes = b""
    unenforced_rules: frozenset[str] = frozenset()
    """Rules that the node's kernel has not enforced until the end."""


def make_sendable(ctx: ToolContext) -> ToolContext:
    """Return the context without what belongs to this process, with absolute paths."""
    allowed = tuple(absolute(path, "allowed_paths") for path in ctx.allowed_paths)
    return replace(
        ctx, cancel=None, approve=None, working_dir=None, workspace=resolve_workspace(ctx), allowed_paths=allowed
    )


def strip_local(plan: Plan) -> Plan:
    """Return the plan without what only this process reads, or the node determines itself."""
    return replace(
        plan,
        request=replace(plan.request, cwd=None, env={}, stdin=None),
        output=replace(plan.output, spill_dir=None),
        engine_data=None,
        redactor=None,
        sandbox_request=None,
        ruleset=None,
        protected=NO_PROTECTED_PATHS,
        notes=(),
        standby_ok=False,
    )


async def localise(sent: RunPayload) -> tuple[Plan, ToolContext, Mapping[str, str]]:
    """Return the plan as this node carries it out, its context, and the variables that the node has added.

    InvalidRequest: the node cannot carry it out.
    """
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
    lost, cwd = cwd, _nearest(cwd) if plan.reports_state else cwd  # a session could never leave a missing directory
    gone = f"The session's directory {lost} does not exist on this node; this command ran in {cwd}."
    cwd = resolve_cwd(Request("true", cwd=cwd), ctx)
    env = {**below, **plan.env, "PWD": cwd}
    confined = plan_sandbox(ctx, plan.limits, env)
    if confined is not None:
        missing = [name for name in plan.enforced if name not in confined.enforced]
        if missing:
            raise InvalidRequest(
                "access_unavailable",
                f"The kernel of this node cannot enforce the promised restrictions ({', '.join(missing)}).",
                field="access",
                hint="Select nodes that can, by label.",
            )
    there = replace(
        plan,
        bash=bash_path(),
        cwd=cwd,
        env=env,
        ruleset=None if confined is None else confined.ruleset,
        sandbox_request=None if confined is None else confined.request,
        protected=NO_PROTECTED_PATHS if confined is None else confined.protected,
        notes=() if cwd == lost else (gone,),
        standby_ok=not (ctx.secrets or ctx.pass_env or plan.deferred) and not plan.reports_state,
    )
    return there, ctx, below


def _nearest(directory: str) -> str:
    """Return the nearest parent that exists."""
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    return directory


def _is_of_ray(name: str) -> bool:
    return name.startswith(_OF_RAY) or name in _OF_ITS_WORKERS


def translate_state(data: bytes, below: Mapping[str, str], workspace: ShippedWorkspace | None) -> bytes:
    """Translate a shell's exit state for the driver, which does not know the node: drop the node's own variables, but
    name those that were unset, and translate the directory."""
    entries = data.decode("utf-8", "surrogateescape").split("\0")
    known = {f"{name}={value}" for name, value in below.items()}
    kept = [entry for entry in entries if entry not in known]
    if workspace is not None:
        kept = [workspace.local_path(entry) if entry.startswith("/") else entry for entry in kept]
    if entries[-2:] == ["", ""]:  # the state is complete
        names = {entry.partition("=")[0] for entry in entries}
        kept[-2:-2] = [name for name in below if name not in names]
    return "\0".join(kept).encode("utf-8", "surrogateescape")
