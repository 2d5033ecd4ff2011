"""Turn the final event of a run into its outcome and notes. Pure."""

from __future__ import annotations

import errno
import os
import re
import signal
from typing import TYPE_CHECKING, assert_never

from nacre.base.shortages import SHORTAGE_HINTS
from nacre.keeper.client.events import FinalEvent, KeeperLost, OutcomeReported, Promoted, RunStopped, StartFailed
from nacre.keeper.protocol.ending import EndKind
from nacre.outcomes import describe_amount
from nacre.result import (
    Cancelled,
    Exited,
    Lost,
    NotStarted,
    Outcome,
    OverLimit,
    PipelineStatus,
    Process,
    Running,
    Signalled,
    TimedOut,
)
from nacre.types import Plan

if TYPE_CHECKING:
    from nacre.execution.finish import FinishedRun

_SILENCE_NOTE_S = 5.0
"""A timeout after at least this many seconds without output gets a note."""
_MAX_NAMED_PROCESSES = 3


def outcome_from(last: FinalEvent, plan: Plan) -> Outcome:
    """Return the outcome for a final event."""
    match last:
        case StartFailed(number, reason):
            return NotStarted(reason, last.hint or _hint_for(number, plan))
        case KeeperLost(reason):
            return Lost(reason)
        case Promoted(task):
            return Running(task.id, promoted=True)
        case OutcomeReported(outcome):
            return outcome
        case RunStopped():
            return _outcome_of_stopped(last, plan)
        case _:
            assert_never(last)


def _outcome_of_stopped(last: RunStopped, plan: Plan) -> Outcome:
    match last.reason.kind:
        case EndKind.TIMEOUT:
            return TimedOut(plan.timing.timeout)
        case EndKind.CANCEL:
            return Cancelled()
        case EndKind.LIMIT:
            limit = last.reason.limit
            assert limit is not None
            return OverLimit(limit.name, _shorten(limit.allowed), _shorten(limit.used))
        case EndKind.EXIT | EndKind.KILL:
            code = os.waitstatus_to_exitcode(last.status)
            return Exited(code) if code >= 0 else Signalled(-code)
        case _:
            assert_never(last.reason.kind)


def _hint_for(number: int, plan: Plan) -> str:
    if number == errno.ENOENT and plan.sandbox_request is not None and plan.sandbox_request.workspace is not None:
        from nacre.sandbox.resolve import SHARED_MEMORY
        from nacre.sandbox.workspace import is_below

        if is_below(os.path.realpath(plan.cwd), SHARED_MEMORY):
            return f"With access='workspace' a command has a private {SHARED_MEMORY}: start it in the workspace."
    return _HINTS.get(number, "")


def _shorten(value: float) -> float:
    """Return the value as an int if it is whole."""
    return int(value) if float(value).is_integer() else value


def _seconds(count: float) -> str:
    return f"{count:.0f}" if count >= 1 else f"{count:.1f}".removesuffix(".0")


_HINTS = SHORTAGE_HINTS | {
    errno.E2BIG: "The environment or the command is too large for this system; pass less in `env`.",
    errno.ENOENT: "Check that the working directory and bash exist.",
    errno.EACCES: "Check that this user may enter the working directory and run bash.",
    errno.EPERM: "A seccomp profile or a security module denies it; `nacre doctor` looks for the cause.",
    errno.ENOSPC: "The disk is full: remove something, or set TMPDIR to a directory on another disk.",
}


def notes_on_end(plan: Plan, run: FinishedRun) -> list[str]:
    """Return notes on the end of a run: silence before its timeout, lack of memory, processes left and killed."""
    last, outcome, notes = run.last, run.outcome, list[str]()
    if last is None:
        return notes
    silence = last.duration - run.last_output
    quiet = isinstance(outcome, TimedOut) and silence >= min(_SILENCE_NOTE_S, outcome.after / 2)
    if quiet and isinstance(last, RunStopped) and last.all_sleeping:
        notes.append(
            f"No output for {_seconds(silence)} s and all processes were sleeping; it may have been waiting for input "
            + ("(stdin is empty: pass answers by flags or `stdin`)." if plan.stdin is None else "(stdin is at EOF).")
        )
    if isinstance(last, RunStopped) and last.out_of_memory:
        notes.append("It was killed, most likely because the machine or its memory cgroup ran out of memory.")
    if isinstance(last, RunStopped):
        notes += last.notes
    if last.killed_leftovers:
        notes.append(f"{_count(last.killed_leftovers)} left running and killed: {_names(last.killed_leftovers)}.")
    if last.running:
        was_to_end = isinstance(outcome, TimedOut | OverLimit | Cancelled | Lost) or plan.leftovers == "end"
        verb = "could not be killed" if was_to_end else "left running"
        notes.append(f"{_count(last.running)} {verb}: {_names(last.running)}.")
    return notes


_BROKEN_PIPE = 128 + signal.SIGPIPE
_QUESTION_COMMANDS = frozenset("grep egrep fgrep zgrep rg ag diff cmp test [ pgrep".split())
"""Commands that exit with 1 to answer "no"."""


def _is_negative_answer(stage: PipelineStatus) -> bool:
    return stage.status == 1 and stage.name in _QUESTION_COMMANDS


def notes_on_pipestatus(plan: Plan, run: FinishedRun) -> list[str]:  # noqa: ARG001
    """Note failed commands of a pipeline that the exit status of its last command hides, be that 0 or the 1 of a "no".
    A command killed by SIGPIPE, because the next one stopped reading, has not failed."""
    pipe_statuses, outcome = run.pipestatus, run.outcome
    failed = [
        stage
        for stage in pipe_statuses[:-1]
        if stage.status not in (0, _BROKEN_PIPE) and not _is_negative_answer(stage)
    ]
    if not failed or outcome != Exited(pipe_statuses[-1].status):
        return []
    if outcome != Exited(0) and not _is_negative_answer(pipe_statuses[-1]):
        return []  # the last command failed as well: the reader will look at the pipeline anyway
    names = ", ".join(f"`{stage.name}` exited with {stage.status}" for stage in failed)
    return [f"In the pipeline {names}; the exit code is that of `{pipe_statuses[-1].name}`."]


_SHORTAGE_PATTERNS = {
    "memory": re.compile(r"MemoryError|Cannot allocate memory|[Oo]ut of memory|bad_alloc|ENOMEM"),
    "file_size": re.compile(r"File too large|File size limit exceeded|EFBIG"),
    "open_files": re.compile(r"Too many open files|EMFILE"),
    "processes": re.compile(r"fork: .{0,200}Resource temporarily unavailable|fork: retry|EAGAIN"),
    "cpu": re.compile(r"CPU time limit exceeded"),
}
_SEARCHED_END_CHARS = 64 * 1024
"""Characters at the end of the output that are searched for error messages; a program that runs out of something
usually reports it last."""
_SIGNALS = {signal.SIGXCPU: "cpu", signal.SIGXFSZ: "file_size"}


_OF_EACH = ("file_size", "open_files", "cpu")


def notes_on_limits(plan: Plan, run: FinishedRun) -> list[str]:
    """Note limits that the kernel enforces per process. A process that exceeds one fails with an error message or is
    killed by a signal. With an engine, the other limits are the container's, and are not checked here."""
    notes: list[str] = []
    outcome = run.outcome
    if outcome == Exited(0) or (plan.ruleset is None and plan.engine_data is None):
        return notes
    output = run.both.text[-_SEARCHED_END_CHARS:]
    number = outcome.exit_status - 128
    for name, words in _SHORTAGE_PATTERNS.items():
        value = getattr(plan.limits, name) if plan.engine_data is None or name in _OF_EACH else None
        if value is not None and not isinstance(outcome, OverLimit):
            certain = _SIGNALS.get(number) == name  # type: ignore[call-overload]
            if certain or words.search(output):
                notes.append(
                    f"{'' if certain else 'Likely '}over the limit of {describe_amount(name, value)}, for each process."
                )
    return [note[0].upper() + note[1:] for note in notes]


def _count(running: tuple[Process, ...]) -> str:
    return "1 process" if len(running) == 1 else f"{len(running)} processes"


def _names(running: tuple[Process, ...]) -> str:
    names = [f"{process.pid} ({process.command})" for process in running[:_MAX_NAMED_PROCESSES]]
    if len(running) > _MAX_NAMED_PROCESSES:
        names.append(f"and {len(running) - _MAX_NAMED_PROCESSES} more")
    return ", ".join(names)
