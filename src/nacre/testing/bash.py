"""ScriptedBash: a `Bash` without a shell.

Everything before the shell (profile, plan, access, checker, approval) and after it (output limits, views, observers,
sessions) is the real code. In between, a script answers. It starts no process and takes no time.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from itertools import count

from nacre.approval.approve import approve
from nacre.base.frozen import frozen, replace
from nacre.bash import Bash, SessionHooks
from nacre.engines import Local
from nacre.environment import host_environment
from nacre.execution.finish import collector_for, result_of_unstarted
from nacre.execution.foreground import running_note
from nacre.observe.dispatch import RunReporter
from nacre.observe.events import Observer
from nacre.planning.plan import plan_for
from nacre.profiles import DEFAULT, Profile
from nacre.result import (
    Cancelled,
    Captured,
    Chunk,
    Ended,
    Event,
    Exited,
    NotStarted,
    Outcome,
    Refused,
    Result,
    Running,
    Started,
    StreamName,
    TaskRef,
    TimedOut,
)
from nacre.sandbox.kernel import landlock
from nacre.sandbox.probe import Kernel
from nacre.tasks.create import task_root
from nacre.testing.results import PID, encode_text, make_task_ref
from nacre.testing.script import Answer, Matcher, Reply, ReplyScript, UnexpectedCommand
from nacre.types import Plan, Request, ToolContext

_CAPABLE_KERNEL = Kernel(
    machine="x86_64", landlock=landlock.MAX_ABI, seccomp=True, mounts=True, terminals=True, networks=True
)
"""Kernel features that do not depend on the machine."""


@frozen(kw_only=True)
class RecordedCall:
    """A requested command and its result."""

    request: Request
    ctx: ToolContext
    result: Result | None = None
    """None: the command was unexpected, or its result was not awaited."""
    expected: bool = True


class ScriptedBash(Bash):
    """Gives the answers that were set with `on`. The requested commands are in `calls`."""

    def __init__(
        self,
        profile: Profile | str = DEFAULT,
        *,
        in_order: bool = False,
        check: bool = True,
        observers: Iterable[Observer] = (),
    ) -> None:
        """Create a Bash without a script.

        `in_order`: commands must arrive exactly in the order of the script, each once. `check`: apply the profile's
        policy as usual; commands that it refuses are refused, and those that it asks about need `ToolContext.approve`.
        """
        super().__init__(profile, engine=Local(_CAPABLE_KERNEL))
        self.observers = tuple(observers)  # without the audit trail that the environment may request: nothing is run
        self._script = ReplyScript(in_order=in_order)
        self._check = check
        self._numbers = count()
        self._lock = threading.Lock()
        self.calls: list[RecordedCall] = []
        """Requested commands, in order."""
        self.unexpected: list[UnexpectedCommand] = []
        """Errors for unexpected commands. A program that catches all exceptions would hide them."""

    @property
    def commands(self) -> list[str]:
        """Requested commands, in order, refused or not."""
        return [call.request.command for call in self.calls]

    def on(
        self,
        command: Matcher,
        answer: Answer | None = None,
        *,
        stdout: str | bytes = "",
        stderr: str | bytes = "",
        exit_code: int = 0,
        outcome: Outcome | None = None,
        duration: float = 0.01,
        task: str = "",
        notes: tuple[str, ...] = (),
        cwd_after: str = "",
        exports: Mapping[str, str] | None = None,
        until_cancelled: bool = False,
        times: int | None = None,
    ) -> ScriptedBash:
        """Set the answer to a command; `Reply` documents the arguments. Return this object.

        `answer` replaces all of them: a Reply, a Result, a text for stdout, or a function that returns one of these for
        a request. Several answers to one command are used in order, and the last one repeatedly, unless `times` limits
        it.
        """
        reply = Reply(
            stdout=stdout,
            stderr=stderr,
            exit_code=exit_code,
            outcome=outcome,
            duration=duration,
            task=task,
            notes=notes,
            cwd_after=cwd_after,
            exports=exports or {},
            until_cancelled=until_cancelled,
        )
        if answer is not None and reply != Reply():
            raise TypeError("give an answer or the keywords that make one, not both")
        self._script.add(command, reply if answer is None else answer, times)
        return self

    def verify(self) -> None:
        """Raise AssertionError if an unexpected command arrived, or if one that was due (by order or by `times`) did
        not."""
        if self.unexpected:
            raise self.unexpected[0]
        if due := self._script.due():
            came = "\n".join(f"  {command!r}" for command in self.commands) or "  nothing"
            raise AssertionError("Was to come, and did not: " + ", ".join(due) + f"\nWhat came:\n{came}")

    async def _run_events(
        self, request: Request, ctx: ToolContext, hooks: SessionHooks | None, reporter: RunReporter | None
    ) -> AsyncGenerator[Event, None]:
        plan = plan_for(request, ctx, self.profile, host_environment(), self.engine.sandbox_plan)
        if hooks is not None:
            plan = hooks.prepare(plan)
        if reporter is not None:
            reporter.on_plan(plan)
        with self._lock:
            before = self.commands
            self.calls.append(RecordedCall(request=request, ctx=ctx))
        place = len(before)
        try:
            async with aclosing(self._events(request, ctx, plan, hooks, reporter, before)) as events:
                async for event in events:
                    if isinstance(event, Ended):
                        self.calls[place] = RecordedCall(request=request, ctx=ctx, result=event.result)
                    yield event
        except UnexpectedCommand as error:
            self.unexpected.append(error)
            self.calls[place] = RecordedCall(request=request, ctx=ctx, expected=False)
            raise

    async def _events(
        self,
        request: Request,
        ctx: ToolContext,
        plan: Plan,
        carry: SessionHooks | None,
        watch: RunReporter | None,
        before: list[str],
    ) -> AsyncGenerator[Event, None]:
        if self._check:
            heard = None if watch is None else watch.on_verdict
            permitted = await approve(request, ctx, plan, self.profile.policy, heard)
            if not isinstance(permitted, Plan):
                yield Ended(result_of_unstarted(request, plan, permitted))
                return
            plan = permitted
        if ctx.cancel is not None and ctx.cancel.cancelled:
            yield Ended(result_of_unstarted(request, plan, Cancelled()))
            return
        answer = await self._answer(request, before)
        number = next(self._numbers)
        if isinstance(answer, Result):
            events, reply, outcome = _as_given(answer, request, plan), Reply(), answer.outcome
        else:
            reply = Reply(stdout=answer) if isinstance(answer, str) else answer
            events, (outcome, _) = _replay(reply, request, ctx, plan, number), _end(reply, plan, number)
        if carry is not None and isinstance(outcome, Exited):
            _write_exit_state(carry.state, reply, plan)
        async with aclosing(events):
            async for event in events:
                yield event

    async def _answer(self, request: Request, before: list[str]) -> Reply | Result | str:
        answer = self._script.answer_to(request, before)
        if isinstance(answer, Reply | Result | str):
            return answer
        said = answer(request)
        if inspect.isawaitable(said):
            said = await said
        if not isinstance(said, Reply | Result | str):
            raise TypeError(f"{said!r} is not an answer to {request.command!r}: use a Reply, a Result or a string")
        return said


async def _as_given(given: Result, request: Request, plan: Plan) -> AsyncGenerator[Event, None]:
    """Yield the events of a given result, as the result of this run."""
    if given.pid is not None:
        yield Started(given.pid, plan.timeout, plan.redactor)
    if data := given.out.head + given.out.tail:
        yield Chunk("stdout", data)
    if data := given.err.head + given.err.tail:
        yield Chunk("stderr", data)
    notes = (*plan.notes, *given.notes)
    yield Ended(replace(given, command=request.command, cwd=plan.cwd, notes=notes, redactor=plan.redactor))


async def _replay(
    reply: Reply, request: Request, ctx: ToolContext, plan: Plan, number: int
) -> AsyncGenerator[Event, None]:
    outcome, duration = _end(reply, plan, number)
    if isinstance(outcome, NotStarted | Refused):
        unbegun = result_of_unstarted(request, plan, outcome)
        yield Ended(replace(unbegun, notes=(*unbegun.notes, *reply.notes)))
        return
    pid = PID + number
    yield Started(pid, plan.timeout, plan.redactor)
    collector = collector_for(plan)
    try:
        second: StreamName = "stdout" if plan.merge else "stderr"
        texts: list[tuple[StreamName, str | bytes]] = [("stdout", reply.stdout), (second, reply.stderr)]
        for name, text in [] if plan.background else texts:
            if data := collector.feed(name, encode_text(text)):
                yield Chunk(name, data)
        for name, data in collector.flush():
            yield Chunk(name, data)
        if reply.until_cancelled:
            await _wait_for_cancel(ctx)
    finally:
        spill = collector.close()
    out, err, both = (Captured(),) * 3 if plan.background else collector.to_captured()
    task = _task(reply, outcome, plan, pid)
    said = () if task is None or plan.background else (running_note(task),)
    yield Ended(
        Result(
            command=request.command,
            cwd=plan.cwd,
            outcome=outcome,
            out=out,
            err=err,
            both=both,
            duration=duration,
            pid=pid,
            task=task,
            spill=spill,
            enforced=plan.enforced,
            notes=(*plan.notes, *reply.notes, *said),
            redactor=plan.redactor,
        )
    )


def _end(reply: Reply, plan: Plan, number: int) -> tuple[Outcome, float]:
    """Return the outcome and the duration, as if the command had really taken that long."""
    name = reply.task or f"bash-{number:08x}"
    if reply.until_cancelled:
        return Cancelled(), reply.duration
    if reply.outcome is not None:
        return reply.outcome, reply.duration
    if plan.background:
        return Running(name), 0.0
    if plan.yield_after is not None and (reply.task or reply.duration > plan.yield_after):
        return Running(name, promoted=True), min(reply.duration, plan.yield_after)
    if reply.duration > plan.timeout:
        return TimedOut(plan.timeout), plan.timeout
    return Exited(reply.exit_code), reply.duration


def _task(reply: Reply, outcome: Outcome, plan: Plan, pid: int) -> TaskRef | None:
    name = outcome.task if isinstance(outcome, Running) else reply.task
    return make_task_ref(name, pid, task_root(plan)) if name else None


async def _wait_for_cancel(ctx: ToolContext) -> None:
    """Wait until the cancel token is cancelled, or the waiting asyncio task is."""
    thrown, loop = asyncio.Event(), asyncio.get_running_loop()

    def throw() -> None:
        loop.call_soon_threadsafe(thrown.set)

    forget = None if ctx.cancel is None else ctx.cancel.on_cancel(throw)
    try:
        await thrown.wait()
    finally:
        if forget is not None:
            forget()


def _write_exit_state(state: int, reply: Reply, plan: Plan) -> None:
    """Write the state that a shell passes to its session on exit."""
    cwd = os.path.normpath(os.path.join(plan.cwd, reply.cwd_after))
    pairs = {**plan.env, **reply.exports}
    told = "".join([f"{cwd}\0", *(f"{name}={value}\0" for name, value in pairs.items()), "\0"])
    os.pwrite(state, encode_text(told), 0)
