"""Outcomes: how a run ended, in ten classes. A closed union: end every `match` on one with `assert_never`.

Each class knows its `kind` in serialized data, its `word` for a column, its `summary` for a sentence, and the
`exit_status` by which a shell would report it. Views match the classes only for wording of their own.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any, TypeAlias, get_args

from nacre.base.frozen import field_names, frozen
from nacre.base.units import describe_size

_EXIT_TIMED_OUT = 124
_EXIT_NOT_RUN = 125
_EXIT_REFUSED = 126
_EXIT_STILL_RUNNING = 75
"""EX_TEMPFAIL of `sysexits.h`: "try again later"."""
_EXIT_SIGNAL = 128
"""A shell adds the number of the signal."""


@frozen
class Exited:
    """The shell exited."""

    code: int
    kind = "exited"

    @property
    def word(self) -> str:
        """`exit 3`."""
        return f"exit {self.code}"

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        return self.word

    @property
    def exit_status(self) -> int:
        """Exit status by which a shell would report it."""
        return self.code


@frozen
class Signalled:
    """The shell was killed by a signal that nacre did not send."""

    signal: int
    kind = "signalled"

    @property
    def name(self) -> str:
        """Name of the signal, such as `SIGTERM`."""
        try:
            return signal.Signals(self.signal).name
        except ValueError:
            return f"SIG{self.signal}"

    @property
    def word(self) -> str:
        """Name of the signal."""
        return self.name

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        return f"ended by {self.name}"

    @property
    def exit_status(self) -> int:
        """Exit status by which a shell would report it."""
        return _EXIT_SIGNAL + self.signal


@frozen
class TimedOut:
    """nacre killed the run with all its processes at its timeout, in seconds."""

    after: float
    kind = "timed_out"
    word = "timed out"
    exit_status = _EXIT_TIMED_OUT

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        return f"timed out after {self.after:g} s"


@frozen
class OverLimit:
    """nacre killed the run with all its processes because it exceeded one of its limits."""

    limit: str
    """`memory` (bytes), `cpu` (seconds), `processes` or `threads`."""
    allowed: float
    used: float
    kind = "over_limit"
    exit_status = _EXIT_SIGNAL + signal.SIGKILL

    @property
    def word(self) -> str:
        """`over memory`."""
        return f"over {self.limit}"

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        allowed, used = describe_amount(self.limit, self.allowed), describe_amount(self.limit, self.used)
        return f"over its limit of {allowed}: it used {used}"


@frozen
class Cancelled:
    """The caller cancelled the run."""

    kind = "cancelled"
    word = "cancelled"
    summary = "cancelled"
    exit_status = _EXIT_SIGNAL + signal.SIGINT


@frozen
class Killed:
    """nacre killed this task with all its processes, as requested."""

    by: str
    """The requester, in a few words."""
    signal: int = 15
    """The first signal sent, before SIGKILL."""
    kind = "killed"
    word = "killed"

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        return f"killed by {self.by}"

    @property
    def exit_status(self) -> int:
        """Exit status by which a shell would report it."""
        return _EXIT_SIGNAL + self.signal


@frozen
class Running:
    """The command keeps running as a task."""

    task: str
    """Id of the task."""
    promoted: bool = False
    """The run was in the foreground and was promoted to a task."""
    kind = "running"
    word = "running"

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        return f"running as {self.task}"

    @property
    def exit_status(self) -> int:
        """Exit status by which a shell would report it: 0 if it was to run in the background."""
        return _EXIT_STILL_RUNNING if self.promoted else 0


@frozen
class Refused:
    """A rule forbids the command; it was not run."""

    rule: str
    reason: str
    instead: str = ""
    kind = "refused"
    word = "refused"
    exit_status = _EXIT_REFUSED

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        return f"refused by {self.rule}: {self.reason}"


@frozen
class NotStarted:
    """The operating system could not start the command."""

    reason: str
    hint: str = ""
    kind = "not_started"
    word = "not started"
    exit_status = _EXIT_NOT_RUN

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        return f"could not start: {self.reason}"


@frozen
class Lost:
    """The keeper was killed during the run. Its exit status is unknown; no process of the run survives."""

    reason: str
    kind = "lost"
    word = "lost"
    exit_status = _EXIT_NOT_RUN

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        return f"lost: {self.reason}"


Outcome: TypeAlias = (
    Exited | Signalled | TimedOut | OverLimit | Cancelled | Killed | Running | Refused | NotStarted | Lost
)
OUTCOMES: dict[str, type[Outcome]] = {cls.kind: cls for cls in get_args(Outcome)}
"""Every class by its kind."""


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome as plain data: its kind and its fields."""
    return {"kind": outcome.kind, **{name: getattr(outcome, name) for name in field_names(type(outcome))}}


def outcome_from_data(data: Mapping[str, Any]) -> Outcome:
    """Rebuild an outcome from `outcome_data`, as in `Result.to_dict`. ValueError, TypeError, KeyError: invalid data."""
    fields = dict(data)
    kind = fields.pop("kind")
    if kind not in OUTCOMES:
        raise ValueError(kind)
    return OUTCOMES[kind](**fields)


def describe_amount(limit: str, value: float) -> str:
    """Describe an amount of a limited resource with its unit: `2 GB of memory`, `60 s of CPU time`."""
    match limit:
        case "cpu":
            return f"{value:g} s of CPU time"
        case "processes":
            return f"{value:g} processes"
        case "threads":
            return f"{value:g} threads"
        case "open_files":
            return f"{value:g} open files"
        case "memory":
            return f"{describe_size(value)} of memory"
        case _:
            return f"{describe_size(value)} in a file"
