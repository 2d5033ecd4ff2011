"""ScriptedEngine: an engine that starts no process. A script answers each command, and no time passes."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING

from nacre.base.frozen import replace
from nacre.engines import Engine
from nacre.environment import host_environment
from nacre.execution.execution import Execution
from nacre.execution.finish import build_result, result_of_unstarted
from nacre.execution.foreground import running_note
from nacre.keeper.client.events import OutcomeReported, OutputChunk, RunEvent, ShellStarted
from nacre.planning.access import plan_sandbox
from nacre.result import (
    Cancelled,
    Captured,
    Ended,
    Event,
    Exited,
    NotStarted,
    Outcome,
    Refused,
    Result,
    Running,
    StreamName,
    TaskRef,
    TimedOut,
)
from nacre.sandbox.kernel import landlock
from nacre.sandbox.probe import Kernel
from nacre.tasks.create import task_root
from nacre.testing.results import PID, encode_text, make_task_ref
from nacre.testing.script import Reply, ReplyScript
from nacre.types import NO_PROTECTED_PATHS, Limits, Plan, Request, ToolContext

if TYPE_CHECKING:
    from nacre.keeper.client.connection import TaskDirHandle
    from nacre.sandbox.resolve import SandboxPlan

_CAPABLE_KERNEL = Kernel(
    machine="x86_64", landlock=landlock.MAX_ABI, seccomp=True, mounts=True, terminals=True, networks=True
)
"""Kernel features that do not depend on the machine."""


class ScriptedEngine(Engine):
    """Engine that answers commands from a script: `Bash(engine=ScriptedEngine(script))` runs nothing."""

    name = "scripted"

    def __init__(self, script: ReplyScript) -> None:
        self._script = script
        self._numbers = count()

    async def base_environment(self, ctx: ToolContext) -> Mapping[str, str]:  # noqa: ARG002
        """Return this process's environment: a login shell would be a process."""
        return host_environment()

    def sandbox_plan(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> SandboxPlan | None:
        """Return what a kernel with all features would enforce. No paths are compared: nothing can change them."""
        planned = plan_sandbox(ctx, limits, env, _CAPABLE_KERNEL)
        if planned is None:
            return None
        return replace(planned, protected=NO_PROTECTED_PATHS)

    async def start(
        self,
        plan: Plan,
        state: int | None = None,
        folder: TaskDirHandle | None = None,  # noqa: ARG002
    ) -> ScriptedRun:
        """Look up the answer to a command and return a run that gives it. UnexpectedCommand: there is none."""
        answer = await self._answer(plan.request)
        number = next(self._numbers)
        reply = Reply(stdout=answer) if isinstance(answer, str) else answer
        run = _run_of_result(reply) if isinstance(reply, Result) else _run_of_reply(reply, plan, number)
        if plan.reports_state and state is not None and isinstance(run.outcome, Exited):
            _write_exit_state(state, reply if isinstance(reply, Reply) else Reply(), plan)
        return run

    def start_task(self, request: Request, ctx: ToolContext, plan: Plan) -> AsyncGenerator[Event, None]:  # noqa: ARG002
        """Yield the events of a scripted task; no directory is created for it."""
        return self._start_task(plan, ctx)

    async def _start_task(self, plan: Plan, ctx: ToolContext) -> AsyncGenerator[Event, None]:
        if ctx.cancel is not None and ctx.cancel.cancelled:
            yield Ended(result_of_unstarted(plan, Cancelled()))
            return
        async with Execution(plan, ctx, self) as execution:
            async for event in execution:
                yield event
        yield Ended(build_result(plan, execution.to_finished()))

    async def _answer(self, request: Request) -> Reply | Result | str:
        answer = self._script.answer_to(request)
        if isinstance(answer, Reply | Result | str):
            return answer
        said = answer(request)
        if inspect.isawaitable(said):
            said = await said
        if not isinstance(said, Reply | Result | str):
            raise TypeError(f"{said!r} is not an answer to {request.command!r}: use a Reply, a Result or a string")
        return said


class ScriptedRun:
    """A run that yields its events at once; the last one, if it `waits_for_cancel`, when it is cancelled."""

    last_output = 0.0
    unenforced_rules: frozenset[str] = frozenset()

    def __init__(
        self,
        events: Iterable[RunEvent],
        last: OutcomeReported,
        *,
        task: TaskRef | None = None,
        notes: tuple[str, ...] = (),
        waits_for_cancel: bool = False,
    ) -> None:
        self.outcome = last.outcome
        self.task = task
        self.notes = notes
        self._events: deque[RunEvent] = deque(events)
        self._last = last
        self._waits_for_cancel = waits_for_cancel
        self._cancelled = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.is_active = True

    async def next(self) -> RunEvent:
        if self._events:
            return self._events.popleft()
        if self._waits_for_cancel:
            await self._cancelled.wait()
        self.is_active = False
        return self._last

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._cancelled.set)

    def close(self) -> None:
        self.is_active = False

    def detach(self) -> None: ...

    def pause(self) -> list[OutputChunk]:
        return []

    def resume(self) -> None: ...


def _run_of_result(given: Result) -> ScriptedRun:
    """Return a run that ends with a given result."""
    events: list[RunEvent] = [] if given.pid is None else [ShellStarted(given.pid)]
    chunks: tuple[tuple[StreamName, Captured], ...] = (("stdout", given.out), ("stderr", given.err))
    events += [OutputChunk(name, data) for name, part in chunks if (data := part.head + part.tail)]
    return ScriptedRun(events, OutcomeReported(given.outcome, given.duration, result=given))


def _run_of_reply(reply: Reply, plan: Plan, number: int) -> ScriptedRun:
    """Return a run that does what a reply describes. `number`: of the answered command, from 0."""
    outcome, duration = _end_of_reply(reply, plan, number)
    if isinstance(outcome, NotStarted | Refused):
        return ScriptedRun((), OutcomeReported(outcome), notes=reply.notes)
    pid = PID + number
    events: list[RunEvent] = [ShellStarted(pid)]
    if plan.lifetime != "background":
        second: StreamName = "stdout" if plan.merge else "stderr"
        texts: list[tuple[StreamName, str | bytes]] = [("stdout", reply.stdout), (second, reply.stderr)]
        events += [OutputChunk(name, data) for name, text in texts if (data := encode_text(text))]
    id = outcome.task if isinstance(outcome, Running) else reply.task
    task = make_task_ref(id, pid, task_root(plan)) if id else None
    notes = reply.notes if task is None or plan.lifetime == "background" else (*reply.notes, running_note(task))
    last = OutcomeReported(outcome, duration)
    return ScriptedRun(events, last, task=task, notes=notes, waits_for_cancel=reply.until_cancelled)


def _end_of_reply(reply: Reply, plan: Plan, number: int) -> tuple[Outcome, float]:
    """Return the outcome and the duration, as if the command had really taken that long."""
    name = reply.task or f"bash-{number:08x}"
    if reply.until_cancelled:
        return Cancelled(), reply.duration
    if reply.outcome is not None:
        return reply.outcome, reply.duration
    if plan.lifetime == "background":
        return Running(name), 0.0
    if plan.timing.yield_after is not None and (reply.task or reply.duration > plan.timing.yield_after):
        return Running(name, promoted=True), min(reply.duration, plan.timing.yield_after)
    if reply.duration > plan.timing.timeout:
        return TimedOut(plan.timing.timeout), plan.timing.timeout
    return Exited(reply.exit_code), reply.duration


def _write_exit_state(state: int, reply: Reply, plan: Plan) -> None:
    """Write the state that a shell passes to its session on exit."""
    cwd = os.path.normpath(os.path.join(plan.cwd, reply.cwd_after))
    pairs = {**plan.env, **reply.exports}
    told = "".join([f"{cwd}\0", *(f"{name}={value}\0" for name, value in pairs.items()), "\0"])
    os.pwrite(state, encode_text(told), 0)
