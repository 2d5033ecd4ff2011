"""Format `Report`: a labelled text with command, exit code, directory, stdout, stderr, cut in the middle (T-05, T-06).

nacre's notes stand at the end of the last part, on lines of their own: `[nacre: …]`. If the command's last line looks
like a note, the next line says that it is the command's own. `parse_report` reads the text back. An end without an exit
code (timed out, refused, not started) gives a message that tells the model what to try instead.
"""

from __future__ import annotations

import signal
from typing import assert_never

from nacre.base.lazy_regex import lazy_regex
from nacre.profiles.answer_format import Report
from nacre.result import (
    Cancelled,
    Captured,
    Exited,
    Killed,
    Lost,
    NotStarted,
    Outcome,
    OverLimit,
    Redacts,
    Refused,
    Result,
    Running,
    Signalled,
    TimedOut,
)
from nacre.views.answers.answer import Answer
from nacre.views.answers.stderr_explained import explain_stderr
from nacre.views.answers.stream_text import read_stream_text

MARK = "\n...\n[truncated]\n...\n"
NO_OUTPUT = "(no output)"
NO_ERRORS = "(no errors)"
NOT_OURS = "[nacre: the line above is the command's own]"
NOTE = lazy_regex(r"\[nacre: .*\]")
_SURROGATE = lazy_regex(r"[\ud800-\udfff]")
_MAX_COMMAND_CHARS = 200
"""Longest command quoted in a message about it."""


def answer(result: Result, view: Report) -> Answer:
    """Return the answer in this format."""
    redactor, code = result.redactor, code_of(result.outcome)
    out, err = _text(result.out, redactor), _text(result.err, redactor)
    command, cwd = _mask_text(result.command, redactor), _mask_text(result.cwd, redactor)
    notes = [_mask_text(note, redactor) for note in _note_lines(result, err)]
    if code is None:
        text = _message(result, command, out, err, notes, view)
    else:
        text = layout(command, code, cwd, out, err, notes)
        if (
            len(text) > view.truncate_above and len(_head(command, code, cwd)) > view.start
        ):  # the cut would drop the exit code
            text = layout(command, code, cwd, out, err, [*notes, f"Exit Code: {code}"])
    short = shorten_report(text, view)
    return Answer(
        text=short,
        data={
            "command": command,
            "exit_code": code,
            "working_dir": cwd,
            "stdout": out,
            "stderr": err,
            "is_truncated": short is not text or bool(result.out.dropped_bytes or result.err.dropped_bytes),
            "outcome": result.outcome.kind,
            "duration_ms": round(result.duration * 1000),
        },
    )


def layout(command: str, code: int, cwd: str, out: str, err: str, notes: list[str] | tuple[str, ...] = ()) -> str:
    """Return the labelled text, uncut."""
    return f"{_head(command, code, cwd)}\n\nSTDOUT:\n{out or NO_OUTPUT}\n\nSTDERR:\n{_stderr_with_notes(err, notes)}"


def shorten_report(text: str, view: Report) -> str:
    """Return `text` itself, or a copy cut in the middle if it is too long."""
    if len(text) <= min(view.truncate_above, view.most):
        return text
    return (text[: view.start] + MARK + text[-view.end :])[: view.most]


def code_of(outcome: Outcome) -> int | None:
    """Return the exit code as `subprocess` does, negative for a signal; None if there is none."""
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


def _stderr_with_notes(err: str, notes: list[str] | tuple[str, ...]) -> str:
    lines = [err or NO_ERRORS]
    if NOTE.fullmatch(err.rpartition("\n")[2]):
        lines.append(NOT_OURS)
    return "\n".join([*lines, *map(_mark_note, notes)])


def _mark_note(note: str) -> str:
    return f"[nacre: {' '.join(note.split())}]"


def _note_lines(result: Result, err: str) -> list[str]:
    found = list(result.notes)
    if isinstance(result.outcome, Cancelled | OverLimit | Killed):
        found.insert(0, result.summary)
    if isinstance(result.outcome, Exited) and result.outcome.code and not found:
        found += explain_stderr(err)
    return found


def _message(result: Result, command: str, out: str, err: str, notes: list[str], view: Report) -> str:
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
    lines = [
        said,
        f"Command: {command if len(command) <= _MAX_COMMAND_CHARS else command[: _MAX_COMMAND_CHARS - 1] + '…'}",
    ]
    if out or err:
        lines.append(f"It had printed:\n\nSTDOUT:\n{out or NO_OUTPUT}\n\nSTDERR:\n{err or NO_ERRORS}")
    elif isinstance(outcome, TimedOut):
        lines.append("What it printed was let through." if result.total_bytes else "It had printed nothing.")
    return "\n".join([*lines, *map(_mark_note, notes)])


def _text(captured: Captured, redactor: Redacts | None) -> str:
    """Return the stream as stripped text, with a line that counts the bytes that were not captured."""
    read = read_stream_text(captured, redactor)
    if not read.dropped:
        return read.head.strip()
    return f"{read.head}\n[{captured.dropped_bytes:,} bytes left out]\n{read.tail}".strip()


def _mask_text(text: str, redactor: Redacts | None) -> str:
    """Mask `text`, and replace lone surrogates: names may be arbitrary bytes."""
    text = _SURROGATE.sub("\ufffd", text)
    return text if redactor is None else redactor.mask(text)
