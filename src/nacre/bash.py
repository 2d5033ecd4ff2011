"""`Bash`, `run` and `run_sync`: run a command through all the stages.

    Request → plan → check → spawn → capture → Result

The stages themselves are in other modules. A `Bash` keeps no state between calls: everything that belongs to one call
is in its arguments. `run` consumes `stream` and returns the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from nacre.approval.approve import approve
from nacre.base.frozen import field_names, frozen, replace
from nacre.base.heap import note_output
from nacre.base.threads import block_on
from nacre.cancel import Cancel
from nacre.engines import LOCAL, Engine, RunHandle
from nacre.errors import InvalidRequest
from nacre.execution.finish import (
    collect_result,
    collector_for,
    finish_and_restore,
    open_pipestatus_file,
    read_pipestatus,
    result_of_unstarted,
    start_failed,
    still_enforced,
)
from nacre.execution.foreground import ForegroundRun
from nacre.execution.limiter import RunLimiter
from nacre.execution.outcome import notes_on, notes_on_limits, notes_on_pipestatus, outcome_from
from nacre.execution.start import start_run
from nacre.keeper.client.events import KeeperLost, OutputChunk, Promoted, RunStopped, ShellStarted, StartFailed
from nacre.keeper.client.handle import UnstartedRun
from nacre.keeper.protocol.shortages import SHORTAGE_HINTS
from nacre.observe.dispatch import RunReporter, observers_from_env, report_events, reporter_for
from nacre.observe.events import Observer
from nacre.planning.access import has_private_tmpdir
from nacre.planning.plan import plan_for, redactor_for
from nacre.profiles import DEFAULT, Profile, profile_named
from nacre.protected_paths import Protection, take_snapshot
from nacre.result import Cancelled, Chunk, Ended, Event, Exited, NotStarted, Result, Started
from nacre.toolcall.answer import answer_call
from nacre.types import Access, Leftovers, Limits, Mode, Network, Plan, Request, StrPath, ToolContext
from nacre.verdict import Verdict

if TYPE_CHECKING:
    from nacre.toolcall.schema import Dialect
    from nacre.views.answers import Answer


@frozen
class SessionHooks:
    """Hooks by which a session changes the plan of a run and reads its final state."""

    prepare: Callable[[Plan], Plan]
    state: int
    """File descriptor to which the shell writes its final working directory and environment."""


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
        ctx = self._with_profile_access(ctx)
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

        ctx = self._with_profile_access(ctx)
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

    def _with_profile_access(self, ctx: ToolContext | None) -> ToolContext:
        """Return the context with the profile's access mode, unless the caller has asked for another mode."""
        ctx = ctx or ToolContext()
        own = self.profile.access
        return ctx if ctx.access != "unrestricted" or own == "unrestricted" else replace(ctx, access=own)

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

    def run_events(
        self, request: Request, ctx: ToolContext, hooks: SessionHooks | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run a command as `stream` does, for a session. `hooks`: of the session."""
        ctx = self._with_profile_access(ctx)
        reporter = reporter_for(self.observers, request, ctx, self.profile)
        events = self._run_events(request, ctx, hooks, reporter)
        return events if reporter is None else report_events(reporter, events)

    async def _run_events(
        self, request: Request, ctx: ToolContext, hooks: SessionHooks | None, reporter: RunReporter | None
    ) -> AsyncGenerator[Event, None]:
        inherited = await self.engine.base_environment(ctx)
        try:
            plan = plan_for(request, ctx, self.profile, inherited, self.engine.sandbox_plan, self.engine.directory)
        except OSError as error:
            if error.errno not in SHORTAGE_HINTS:
                raise
            unstarted = NotStarted(os.strerror(error.errno), SHORTAGE_HINTS[error.errno])
            cwd, redactor = self.engine.directory(request, ctx), redactor_for(request, ctx, inherited)
            yield Ended(Result(command=request.command, cwd=cwd, outcome=unstarted, redactor=redactor))
            return
        if hooks is not None:
            plan = hooks.prepare(plan)
        if reporter is not None:
            reporter.on_plan(plan)
        on_verdict = None if reporter is None else reporter.on_verdict
        permitted = await approve(request, ctx, plan, self.profile.policy, on_verdict)
        if not isinstance(permitted, Plan):
            yield Ended(result_of_unstarted(request, plan, permitted))
            return
        plan = permitted
        if plan.background:
            try:
                from nacre.execution.background import start_background  # loaded with the first background task
            except OSError as error:
                yield Ended(result_of_unstarted(request, plan, outcome_from(start_failed(error), plan)))
                return
            async for event in self.engine.start_task(request, ctx, plan) or start_background(
                request, ctx, plan, self.engine
            ):
                yield event
            return
        if not await self._limiter.acquire(ctx.cancel):
            yield Ended(result_of_unstarted(request, plan, Cancelled()))
            return
        collector = collector_for(plan)
        pid, undone, denied = None, list[str](), list[str]()
        state = hooks.state if hooks is not None else open_pipestatus_file(plan)
        try:
            protection: Protection | None = None
            try:
                protection = await take_snapshot(plan)
            except OSError as error:  # its changes to protected paths could not be undone
                run: RunHandle = UnstartedRun(start_failed(error))
            else:
                try:
                    run = await start_run(self.engine, plan, ctx.cancel, state)
                except BaseException:
                    if protection is not None:
                        protection.release()
                    raise
            foreground = ForegroundRun(run, collector, request, ctx, plan, protection)
            forget = None if ctx.cancel is None else ctx.cancel.on_cancel(run.cancel)
            try:
                while isinstance(happening := await foreground.next(), ShellStarted | OutputChunk):
                    if isinstance(happening, ShellStarted):
                        pid = happening.pid
                        yield Started(pid, plan.timeout, plan.redactor)
                    elif data := collector.feed(happening.stream, happening.data):
                        yield Chunk(happening.stream, data)
                for stream, data in collector.flush():
                    yield Chunk(stream, data)
                await foreground.adopt(happening)
                foreground.suggest_wait(happening)
            finally:
                if forget is not None:
                    forget()
                if protection is None:
                    run.close()
                else:  # the clean-up completes even if this task is cancelled again
                    undone = await asyncio.shield(finish_and_restore(run, foreground, plan.grace))
        finally:
            self._limiter.release()
            spill = collector.close()
            ended = read_pipestatus(plan, state)
            if state is not None and hooks is None:
                os.close(state)
        assert isinstance(happening, StartFailed | RunStopped | KeeperLost | Promoted)
        outcome, task = outcome_from(happening, plan), foreground.task
        out, err, both = collector.to_captured()
        note_output(both.total_bytes)
        notes = notes_on(happening, outcome, plan, happening.duration - run.last_output)
        notes += notes_on_pipestatus(ended, outcome)
        is_limited = plan.ruleset is not None or plan.engine_data is not None
        if is_limited and not (isinstance(outcome, Exited) and outcome.code == 0):
            notes += notes_on_limits(plan, outcome, both.text)
        with contextlib.suppress(OSError):  # no file descriptor left to load the modules: return the result anyway
            if plan.sandbox_request is not None:
                from nacre.sandbox.denials import denials  # loaded on the first sandboxed run

                denied = denials(plan, outcome, both, ctx.conversation_id)
                notes += denied
            if isinstance(outcome, Exited) and outcome.code and both.total_bytes and not denied:
                from nacre.hints import hints_for  # loaded on the first failure

                notes += await hints_for(plan, both) if self.engine.is_local else []
        yield Ended(
            Result(
                command=request.command,
                cwd=plan.cwd,
                outcome=outcome,
                out=out,
                err=err,
                both=both,
                duration=happening.duration,
                pid=pid,
                running=happening.running,
                killed_leftovers=happening.killed_leftovers,
                pipestatus=ended,
                task=task,
                spill=spill,
                files_unreachable=not self.engine.can_read(plan, plan.spill_dir if task is None else task.output_file),
                enforced=() if pid is None else still_enforced(plan, protection, foreground.unenforced_rules),
                notes=(*plan.notes, *notes, *foreground.notes, *undone, *collector.notes()),
                redactor=plan.redactor,
            )
        )


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
            near = difflib.get_close_matches(name, _OF_REQUEST | _OF_CONTEXT, n=1)
            raise TypeError(f"run() got an unknown option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
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
