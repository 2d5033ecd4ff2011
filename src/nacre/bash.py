"""`Bash`, `run` and `run_sync`: run a command through all the stages.

    Request → plan → check → spawn → capture → Result

The stages themselves are in other modules. A `Bash` keeps no state between calls: everything that belongs to one call
is in its arguments. `run` consumes `stream` and returns the result.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from nacre.approval.approve import approve
from nacre.base.frozen import field_names, frozen, replace
from nacre.base.shortages import SHORTAGE_HINTS
from nacre.base.suggest import find_nearest
from nacre.base.threads import block_on
from nacre.cancel import Cancel
from nacre.engines import LOCAL, Engine
from nacre.errors import InvalidRequest
from nacre.execution.execution import Execution
from nacre.execution.finish import Unplanned, build_result, collect_result, explain_end, result_of_unstarted
from nacre.execution.limiter import RunLimiter
from nacre.execution.outcome import outcome_from
from nacre.keeper.client.events import (
    parse_start_failed,
)
from nacre.observe.dispatch import RunReporter, observers_from_env, report_events, reporter_for
from nacre.observe.events import Observer
from nacre.planning.access import has_private_tmpdir
from nacre.planning.plan import plan_for, redactor_for
from nacre.profiles import DEFAULT, Profile, profile_named
from nacre.result import Cancelled, Ended, Event, NotStarted, Refused, Result
from nacre.toolcall.answer import answer_call
from nacre.types import Access, Leftovers, Limits, Mode, Network, Plan, Request, StrPath, ToolContext
from nacre.verdict import Verdict

if TYPE_CHECKING:
    from nacre.toolcall.schema import Dialect
    from nacre.views.answers import Answer


@frozen(kw_only=True)
class RunHooks:
    """Changes to a run by the object that runs it: a session, or a Bash for tests."""

    prepare: Callable[[Plan], Plan] | None = None
    """Called with the plan; returns the plan to run."""
    state: int | None = None
    """File descriptor to which the shell writes its final working directory and environment."""
    check: bool = True
    """Apply the profile's policy. Only False if no command is really run."""


NO_HOOKS = RunHooks()


def with_profile_access(profile: Profile, ctx: ToolContext | None) -> ToolContext:
    """Return the context with the profile's access mode, unless the caller has asked for another mode."""
    ctx = ctx or ToolContext()
    if ctx.access != "unrestricted" or profile.access == "unrestricted":
        return ctx
    return replace(ctx, access=profile.access)


class Bash:
    """A runner of shell commands. One instance serves any number of conversations, threads and event loops."""

    def __init__(
        self,
        profile: Profile | str = DEFAULT,
        *,
        max_running: int | None = None,
        observers: Iterable[Observer] = (),
        engine: Engine = LOCAL,
    ) -> None:
        """Create a runner.

        `profile`: limits, policy, tool schema and answer format, or the name of a profile. `max_running`: runs at the
        same time; further ones wait. None: derived from RLIMIT_NOFILE, at most 512. `observers`: notified of every run
        (`nacre.observe`); the environment can add an audit trail. `engine`: the place where commands run
        (`nacre.engines`).

        Raises InvalidRequest for an unknown profile, or one that needs a container with an engine that has none.
        """
        self.profile = profile_named(profile) if isinstance(profile, str) else profile
        asked = tuple(observers)
        self.observers = (*asked, *observers_from_env(asked))
        self.engine = engine
        if self.profile.container and engine.is_local:
            raise InvalidRequest(
                "no_container",
                f"The profile {self.profile.name!r} needs a container, but the engine is {engine.name!r}.",
                field="engine",
                hint="Give one: Bash(…, engine=Containers(IMAGE)), from nacre.engines.",
            )
        self._limiter = RunLimiter(max_running)

    def constraints(self, ctx: ToolContext | None = None) -> str:
        """Describe the restrictions on commands of this context for a model; empty if there are none.

        Raises InvalidRequest if the working directory is invalid, AccessUnavailable if the access mode cannot be
        enforced.
        """
        ctx = with_profile_access(self.profile, ctx)
        self.engine.directory(Request("true"), ctx)  # raises if there is none
        confined = self.engine.sandbox_plan(ctx, Limits(), {})
        if confined is None or confined.request is None:
            return "" if confined is None else confined.description
        from nacre.sandbox.describe import describe

        return describe(confined.request, confined.enforced, scratch=has_private_tmpdir(ctx))

    @property
    def access_modes(self) -> tuple[Access, ...]:
        """Access modes that the engine can enforce."""
        return ("unrestricted", "workspace", "restricted") if self.engine.confines else ("unrestricted",)

    def definition(self, ctx: ToolContext | None = None, *, dialect: Dialect = "anthropic") -> dict[str, Any]:
        """Return the tool definition for a model: name, description with the restrictions in force, schema of the
        arguments that `call` takes."""
        from nacre.toolcall import schema

        ctx = with_profile_access(self.profile, ctx)
        tool = schema.tool_with_times(self.profile)
        where = f"Working directory: {self.engine.directory(Request('true'), ctx)}" if tool.names_directory else ""
        parts = (tool.description.strip(), where, self.constraints(ctx))
        return schema.definition(tool, "\n\n".join(filter(None, parts)), dialect)

    async def call(self, arguments: Mapping[str, Any] | str, ctx: ToolContext | None = None) -> Answer:
        """Run one tool call of a model and return the answer in the profile's format.

        `arguments` is the mapping or the JSON text that the model sent. Invalid arguments give an answer that says so;
        they do not raise.
        """
        return await answer_call(self.profile, arguments, ctx or ToolContext(), self.stream)

    async def run(self, request: Request | str, ctx: ToolContext | None = None) -> Result:
        """Run a command until it exits, is killed, or becomes a task, and return its result.

        A failing, refused or timed out command is a result, too (`Result.outcome`). Raises InvalidRequest if the
        request or context is invalid, and EngineUnavailable or KeeperFailed if commands cannot run at all.
        """
        return await collect_result(self.stream(request, ctx))

    def stream(self, request: Request | str, ctx: ToolContext | None = None) -> AsyncGenerator[Event, None]:
        """Run a command and yield its events: `Started` if it starts, any number of `Chunk`s, then `Ended`.

        At most a few megabytes are read ahead of the caller: a slow caller makes the command wait. Raises as `run`
        does.
        """
        return self.run_events(Request(request) if isinstance(request, str) else request, ctx or ToolContext())

    def run_events(self, request: Request, ctx: ToolContext, hooks: RunHooks = NO_HOOKS) -> AsyncGenerator[Event, None]:
        """Run a command as `stream` does, for a session."""
        ctx = with_profile_access(self.profile, ctx)
        reporter = reporter_for(self.observers, request, ctx, self.profile)
        events = self._run_events(request, ctx, hooks, reporter)
        return events if reporter is None else report_events(reporter, events)

    async def _run_events(
        self, request: Request, ctx: ToolContext, hooks: RunHooks, reporter: RunReporter | None
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of a run: the pipeline."""
        planned = await self._plan(request, ctx, hooks)  # validates the request
        if isinstance(planned, Unplanned):
            yield Ended(result_of_unstarted(planned, planned.reason))
            return
        if reporter is not None:
            reporter.on_plan(planned)
        plan = await self._approve(planned, ctx, hooks, reporter)  # checks the command
        if not isinstance(plan, Plan):
            yield Ended(result_of_unstarted(planned, plan))
            return
        if plan.lifetime == "background":
            async with aclosing(self._start_task(plan, ctx)) as events:
                async for event in events:
                    yield event
            return
        async with self._limiter.slot(ctx.cancel) as admitted:
            if not admitted:
                yield Ended(result_of_unstarted(plan, Cancelled()))
                return
            async with Execution(plan, ctx, self.engine, hooks.state) as execution:  # starts the run
                async for event in execution:  # captures its output
                    yield event
        run = execution.to_finished()
        notes = await explain_end(plan, run, ctx, is_local=self.engine.is_local)
        yield Ended(build_result(plan, run, notes))

    async def _plan(self, request: Request, ctx: ToolContext, hooks: RunHooks) -> Plan | Unplanned:
        """Return the plan of a request, as the hooks change it. InvalidRequest: an argument is invalid."""
        engine = self.engine
        inherited = await engine.base_environment(ctx)
        try:
            plan = plan_for(request, ctx, self.profile, inherited, engine.sandbox_plan, engine.directory)
        except OSError as error:
            if error.errno not in SHORTAGE_HINTS:
                raise
            return Unplanned(
                request=request,
                cwd=engine.directory(request, ctx),
                reason=NotStarted(os.strerror(error.errno), SHORTAGE_HINTS[error.errno]),
                redactor=redactor_for(request, ctx, inherited),
            )
        return plan if hooks.prepare is None else hooks.prepare(plan)

    async def _approve(
        self, plan: Plan, ctx: ToolContext, hooks: RunHooks, reporter: RunReporter | None
    ) -> Plan | Refused | Cancelled | NotStarted:
        """Return the plan to run, or why it may not run."""
        if not hooks.check:
            return plan
        return await approve(plan, ctx, self.profile.policy, None if reporter is None else reporter.on_verdict)

    async def _start_task(self, plan: Plan, ctx: ToolContext) -> AsyncGenerator[Event, None]:
        """Start a background task, by the engine's own means if it has some, and yield its events."""
        try:
            from nacre.execution.background import start_background  # loaded with the first background task
        except OSError as error:
            yield Ended(result_of_unstarted(plan, outcome_from(parse_start_failed(error), plan)))
            return
        events = self.engine.start_task(plan.request, ctx, plan) or start_background(plan, ctx, self.engine)
        async with aclosing(events):
            async for event in events:
                yield event


class RunOptions(TypedDict, total=False):
    """Keyword arguments of `run`: the fields of `Request` and `ToolContext`, where they are documented."""

    description: str
    mode: Mode
    timeout: float | None
    yield_after: float | None
    cwd: StrPath | None
    env: Mapping[str, str]
    clear_env: bool
    stdin: str | bytes | None
    open_stdin: bool
    merge: bool
    leftovers: Leftovers | None
    working_dir: StrPath | None
    workspace: StrPath | None
    cancel: Cancel | None
    access: Access
    network: Network
    unix_sockets: bool
    writable: tuple[StrPath, ...]
    protected: tuple[StrPath, ...]
    unprotected: tuple[str, ...]
    hidden: tuple[StrPath, ...]
    strict: bool
    allow_partial: bool
    output_dir: StrPath | None
    spill_dir: StrPath | None
    conversation_id: str
    caller: str
    allowed_paths: tuple[StrPath, ...]
    approve: Callable[[Verdict], Awaitable[bool] | bool] | None
    limits: Limits
    secrets: tuple[str, ...]
    pass_env: tuple[str, ...]
    login_env: bool


_OF_REQUEST = frozenset(field_names(Request))


_OF_CONTEXT = frozenset(field_names(ToolContext))


@cache
def _default_bash() -> Bash:
    return Bash()


def _split_options(command: str, options: Mapping[str, Any]) -> tuple[Request, ToolContext]:
    """Sort keyword arguments into a request and a context. TypeError: unknown option."""
    for name in options:
        if name not in _OF_REQUEST | _OF_CONTEXT:
            near = find_nearest(name, _OF_REQUEST | _OF_CONTEXT)
            raise TypeError(f"run() got an unknown option {name!r}" + (f"; did you mean {near!r}?" if near else ""))
    if options.get("cwd") is not None and options.get("workspace") is None:
        # Here a programmer gives the directory, not a model: so it may be the workspace, too.
        options = {**options, "workspace": os.path.join(options.get("working_dir") or "", options["cwd"])}
    return (
        Request(command, **{name: value for name, value in options.items() if name in _OF_REQUEST}),
        ToolContext(**{name: value for name, value in options.items() if name in _OF_CONTEXT}),
    )


async def run(command: str, **options: Unpack[RunOptions]) -> Result:
    """Run one command and return its result. The options are the fields of `Request` and `ToolContext`.

        result = await nacre.run("pytest -q", timeout=300)

    Raises TypeError for an unknown option, else as `Bash.run` does.
    """
    return await _default_bash().run(*_split_options(command, options))


def run_sync(command: str, **options: Unpack[RunOptions]) -> Result:
    """Run one command like `run`, for code without an event loop. Inside a running event loop it blocks that loop."""
    return block_on(_default_bash().run(*_split_options(command, options)))
