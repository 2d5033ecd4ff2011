"""ScriptedBash: a `Bash` whose engine answers from a script and starts no process.

Everything around the engine is the real code: profile, plan, access, checker, approval, limits, results, views,
observers, sessions. This class adds the script and the record of the calls.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing

from nacre.base.frozen import frozen, replace
from nacre.bash import NO_HOOKS, Bash, RunHooks, with_profile_access
from nacre.observe.events import Observer
from nacre.profiles import DEFAULT, Profile
from nacre.result import Ended, Event, Outcome, Result
from nacre.testing.engine import ScriptedEngine
from nacre.testing.script import Answer, Matcher, Reply, ReplyScript, UnexpectedCommand, add_earlier
from nacre.types import Plan, Request, ToolContext


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
        self._script = ReplyScript(in_order=in_order)
        super().__init__(profile, engine=ScriptedEngine(self._script))
        self.observers = tuple(observers)  # without the audit trail that the environment may request: nothing is run
        self._check = check
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

    async def run_events(
        self, request: Request, ctx: ToolContext, hooks: RunHooks = NO_HOOKS
    ) -> AsyncGenerator[Event, None]:
        """Run a command as `Bash` does, and record the call once its request is known to be valid."""
        place, before = -1, list[str]()

        def record(plan: Plan) -> Plan:
            nonlocal place, before
            with self._lock:
                place, before = len(self.calls), self.commands
                self.calls.append(RecordedCall(request=request, ctx=with_profile_access(self.profile, ctx)))
            return plan if hooks.prepare is None else hooks.prepare(plan)

        recording = replace(hooks, prepare=record, check=self._check)
        try:
            async with aclosing(super().run_events(request, ctx, recording)) as events:
                async for event in events:
                    if isinstance(event, Ended) and place >= 0:
                        self.calls[place] = replace(self.calls[place], result=event.result)
                    yield event
        except UnexpectedCommand as error:
            add_earlier(error, before)
            self.unexpected.append(error)
            self.calls[place] = replace(self.calls[place], expected=False)
            raise
