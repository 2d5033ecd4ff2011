"""A script of replies to commands: requests in, replies out. An unexpected request raises AssertionError."""

from __future__ import annotations

import re
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from nacre.base.frozen import field, frozen
from nacre.base.suggest import find_nearest
from nacre.result import Outcome, Result
from nacre.types import Request

Matcher: TypeAlias = "str | re.Pattern[str] | Callable[[Request], bool]"
"""The exact command, a pattern to find in it, or a predicate on the request."""


@frozen(kw_only=True)
class Reply:
    """The reply to a command."""

    stdout: str | bytes = ""
    stderr: str | bytes = ""
    exit_code: int = 0
    outcome: Outcome | None = None
    """An outcome other than an exit."""
    duration: float = 0.01
    """Simulated duration in seconds; nothing waits for it. If it exceeds the timeout, the command timed out; if it
    exceeds `yield_after`, the command keeps running as a background task."""
    task: str = ""
    """Id of the task that the command, or its leftovers, become."""
    notes: tuple[str, ...] = ()
    cwd_after: str = ""
    """Final working directory of the shell, for a `Session`."""
    exports: Mapping[str, str] = field(default_factory=dict)
    """Variables that the shell exports, for a `Session`."""
    until_cancelled: bool = False
    """Print the output, then wait until the call is really cancelled."""


ReplyText: TypeAlias = "Reply | Result | str"
Answer: TypeAlias = "ReplyText | Callable[[Request], ReplyText | Awaitable[ReplyText]]"


class UnexpectedCommand(AssertionError):
    """A command without an answer in the script."""


def add_earlier(error: UnexpectedCommand, commands: list[str]) -> None:
    """Add the commands that came before the unexpected one to the message of its error."""
    if commands:
        error.args = ("\n".join([str(error), "Asked before:", *(f"  {each!r}" for each in commands)]),)


class Expectation:
    """One entry of a script."""

    def __init__(self, matcher: Matcher, answer: Answer, times: int | None) -> None:
        self.matcher = matcher
        self.answer = answer
        self.times = times
        """None: any number of times."""
        self.used = 0

    @property
    def spent(self) -> bool:
        return self.times is not None and self.used >= self.times

    @property
    def due(self) -> bool:
        """True if it has not been used the required number of times."""
        return self.used < (self.times or 1)

    @property
    def progress(self) -> str:
        return f"{self} ({self.used} of {self.times} times)" if self.used else str(self)

    def __str__(self) -> str:
        return describe_matcher(self.matcher)


class ReplyScript:
    """Replies to commands, in order or by match."""

    def __init__(self, *, in_order: bool) -> None:
        self._in_order = in_order
        self._lines: list[Expectation] = []
        self._lock = threading.Lock()

    def add(self, matcher: Matcher, answer: Answer, times: int | None) -> None:
        if times is not None and times < 1:
            raise ValueError(f"times must be at least 1, not {times}")
        if not (isinstance(matcher, str | re.Pattern) or callable(matcher)):
            raise TypeError(f"{matcher!r} is not a command: use a string, a pattern or a function of the request")
        if not (isinstance(answer, Reply | Result | str) or callable(answer)):
            raise TypeError(
                f"{answer!r} is not an answer: use a Reply, a Result, a string or a function of the request"
            )
        self._lines.append(Expectation(matcher, answer, 1 if times is None and self._in_order else times))

    def answer_to(self, request: Request) -> Answer:
        """Return the answer to a request. Raise UnexpectedCommand if there is none."""
        with self._lock:
            if line := self._next(request):
                line.used += 1
        if line is None:
            raise UnexpectedCommand(self._complaint(request.command))
        return line.answer

    def due(self) -> list[str]:
        """Return descriptions of expected commands that have not arrived, in order or the required number of times."""
        return [line.progress for line in self._lines if line.times is not None and line.due]

    def _next(self, request: Request) -> Expectation | None:
        if self._in_order:
            left = [line for line in self._lines if not line.spent][:1]
            return left[0] if left and matches(left[0].matcher, request) else None
        fitting = [line for line in self._lines if not line.spent and matches(line.matcher, request)]
        return next((line for line in fitting if line.due), fitting[-1] if fitting else None)

    def _complaint(self, command: str) -> str:
        left = [line for line in self._lines if not line.spent]
        lines = [f"Unexpected command: {command!r}"]
        if not self._lines:
            lines.append("Nothing is scripted: bash.on(COMMAND, stdout=…) sets an answer.")
        elif not left:
            lines.append("All scripted commands have already run.")
        elif self._in_order:
            lines.append(f"Next in the script: {left[0]}")
        else:
            lines += ["Scripted:", *(f"  {line}" for line in left)]
            near = find_nearest(command, [line.matcher for line in left if isinstance(line.matcher, str)])
            lines += [f"Nearest: {near!r}"] if near else []
        return "\n".join(lines)


def matches(matcher: Matcher, request: Request) -> bool:
    if isinstance(matcher, str):
        return matcher == request.command
    if isinstance(matcher, re.Pattern):
        return matcher.search(request.command) is not None
    return bool(matcher(request))


def describe_matcher(matcher: Matcher) -> str:
    if isinstance(matcher, str):
        return repr(matcher)
    if isinstance(matcher, re.Pattern):
        return f"a command with /{matcher.pattern}/"
    return f"a request that {getattr(matcher, '__name__', repr(matcher))} says yes to"
