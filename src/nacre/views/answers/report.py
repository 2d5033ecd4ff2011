"""A labelled text: command, exit code, directory, stdout, stderr; what is too long is cut in the middle (T-05, T-06).

What nacre has to say stands at the end of the last part, in lines of its own: `[nacre: …]`. A command that printed such
a line last is found out: the next one says so. `reported` reads all of it back. What has no exit code is a message for
who has to try something else: it timed out, was refused, could not be started.
"""

from __future__ import annotations

import signal
from typing import assert_never

from nacre.base.lazy_regex import later
from nacre.profiles.answer_format import Report
from nacre.result import (
    KINDS,
    Cancelled,
    Captured,
    Exited,
    Hides,
    Killed,
    Lost,
    NotStarted,
    Outcome,
    OverLimit,
    Refused,
    Result,
    Running,
    Signalled,
    TimedOut,
)
from nacre.views.answers.answer import Answer
from nacre.views.answers.stderr_explained import explained
from nacre.views.answers.stream_text import whole

MARK = "\n...\n[truncated]\n...\n"
NO_OUTPUT = "(no output)"
NO_ERRORS = "(no errors)"
NOT_OURS = "[nacre: the line above is the command's own]"
REMARK = later(r"\[nacre: .*\]")
_SURROGATE = later(r"[\ud800-\udfff]")
_SHOWN = 200
"""Characters of a command in a message about it."""


def answer(result: Result, view: Report) -> Answer:
    hidden, code = result.hidden, code_of(result.outcome)
    out, err = _text(result.out, hidden), _text(result.err, hidden)
    command, cwd = _masked(result.command, hidden), _masked(result.cwd, hidden)
    remarks = [_masked(remark, hidden) for remark in _remarks(result, err)]
    if code is None:
        text = _message(result, command, out, err, remarks, view)
    else:
        text = layout(command, code, cwd, out, err, remarks)
        if len(text) > view.over and len(_head(command, code, cwd)) > view.start:  # what matters most would be cut out
            text = layout(command, code, cwd, out, err, [*remarks, f"Exit Code: {code}"])
    short = shortened(text, view)
    return Answer(
        text=short,
        data={
            "command": command,
            "exit_code": code,
            "working_dir": cwd,
            "stdout": out,
            "stderr": err,
            "is_truncated": short is not text or bool(result.out.dropped or result.err.dropped),
            "outcome": KINDS[type(result.outcome)],
            "duration_ms": round(result.duration * 1000),
        },
    )


def layout(command: str, code: int, cwd: str, out: str, err: str, remarks: list[str] | tuple[str, ...] = ()) -> str:
    return f"{_head(command, code, cwd)}\n\nSTDOUT:\n{out or NO_OUTPUT}\n\nSTDERR:\n{_said(err, remarks)}"


def shortened(text: str, view: Report) -> str:
    """The text itself, where it is not too long."""
    if len(text) <= min(view.over, view.most):
        return text
    return (text[: view.start] + MARK + text[-view.end :])[: view.most]


def code_of(outcome: Outcome) -> int | None:
    """As Python has it: negative for a signal. None: there is none to tell."""
    match outcome:
        case Exited(code):
            return code
        case Signalled(number) | Killed(_, number):
            return -number
        case Cancelled():
            return -signal.SIGTERM
        case OverLimit():
            return -signal.SIGKILL
        case TimedOut() | Refused() | NotStarted() | Lost() | Running():
            return None
        case _:
            assert_never(outcome)


def _head(command: str, code: int, cwd: str) -> str:
    return f"Command: {command}\nExit Code: {code}\nWorking Directory: {cwd}"


def _said(err: str, remarks: list[str] | tuple[str, ...]) -> str:
    lines = [err or NO_ERRORS]
    if REMARK.fullmatch(err.rpartition("\n")[2]):
        lines.append(NOT_OURS)
    return "\n".join([*lines, *map(_marked, remarks)])


def _marked(remark: str) -> str:
    return f"[nacre: {' '.join(remark.split())}]"


def _remarks(result: Result, err: str) -> list[str]:
    found = list(result.remarks)
    if isinstance(result.outcome, Cancelled | OverLimit | Killed):
        found.insert(0, result.summary)
    if isinstance(result.outcome, Exited) and result.outcome.code and not found:
        found += explained(err)
    return found


def _message(result: Result, command: str, out: str, err: str, remarks: list[str], view: Report) -> str:
    outcome = result.outcome
    match outcome:
        case TimedOut(after):
            more = f"with a `timeout` of up to {view.longest} seconds, or null for no limit"
            if after >= view.longest:
                more = "with a `timeout` of null for no limit"
            time = f"{after:g} second{'' if after == 1 else 's'}"
            said = f"Command timed out after {time} and was killed, with everything it had started. "
            said += f"Retry {more}, or with a command that does less."
        case Refused(_, reason, instead):
            said = f"Not run, for security: {reason}." + (f" Instead: {instead}." if instead else "")
        case NotStarted(reason, hint):
            said = f"The command could not be started: {reason}. {hint}".rstrip()
        case Running(task):
            said = f"The command has not ended; it goes on as {task}."
        case _:
            reason = outcome.reason if isinstance(outcome, Lost) else ""
            said = f"It is not known how the command ended. {reason}".rstrip()
    lines = [said, f"Command: {command if len(command) <= _SHOWN else command[: _SHOWN - 1] + '…'}"]
    if out or err:
        lines.append(f"It had printed:\n\nSTDOUT:\n{out or NO_OUTPUT}\n\nSTDERR:\n{err or NO_ERRORS}")
    elif isinstance(outcome, TimedOut):
        lines.append("What it printed was let through." if result.seen else "It had printed nothing.")
    return "\n".join([*lines, *map(_marked, remarks)])


def _text(captured: Captured, hidden: Hides | None) -> str:
    """Stripped; a line of its own says what was not captured."""
    read = whole(captured, hidden)
    if not read.dropped:
        return read.head.strip()
    return f"{read.head}\n[{captured.dropped:,} bytes left out]\n{read.tail}".strip()


def _masked(text: str, hidden: Hides | None) -> str:
    """And as characters, whatever bytes a name is made of."""
    text = _SURROGATE.sub("\ufffd", text)
    return text if hidden is None else hidden.mask(text)
