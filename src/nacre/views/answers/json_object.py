"""Format `Fields`: an object with success, stdout, stderr, exit code, milliseconds; a task's id and output file.

A stream that is too long keeps both ends, with the number of characters omitted between them. `exit_code` is the
command's own, 1 if it has none, or -1 if a rule refused the command. An end without an exit code is described in
`stderr`, after the command's own output there.
"""

from __future__ import annotations

import json
from typing import Any, assert_never

from nacre.ansi.decode import clean
from nacre.base.frozen import replace
from nacre.profiles.answer_format import Fields
from nacre.result import (
    Cancelled,
    Exited,
    Killed,
    Lost,
    NotStarted,
    OverLimit,
    Refused,
    Result,
    Running,
    Signalled,
    TimedOut,
)
from nacre.views.answers.answer import Answer
from nacre.views.answers.stream_text import StreamText, read_stream_text


def answer(result: Result, view: Fields) -> Answer:
    """Return the answer in this format."""
    data = _data(result, view.limit)
    return Answer(text=json.dumps(data, ensure_ascii=False), data=data)


def error_fields(made: Answer, message: str) -> Answer:
    """Return the answer to a call that could not be run, in the same object."""
    data = {**_fields(success=False, stderr=message, code=1), **made.data}
    return replace(made, text=json.dumps(data, ensure_ascii=False), data=data)


def shorten_stream(stream: StreamText, limit: int) -> tuple[str, bool]:
    """Return at most `limit` characters, plus a marker between both ends if the stream is longer, and whether it is."""
    if not stream.dropped and stream.length <= limit:
        return stream.head, False
    half = limit // 2
    first, last = stream.first(half), stream.last(half)
    gone = stream.length - limit
    if len(first) + len(last) < 2 * half:  # the capture kept less than `limit`
        gone = stream.length - len(first) - len(last)
    return f"{first}\n\n... ({gone} characters truncated) ...\n\n{last}", True


def exit_code(result: Result) -> int:
    """Return the command's own exit code; without one, -1 for a refusal and 1 for any other end."""
    match result.outcome:
        case Exited(code):
            return code
        case Refused():
            return -1
        case _:
            return 1


def describe_end(result: Result) -> str:
    """Describe an end that is no exit code; empty if the command exited."""
    outcome = result.outcome
    match outcome:
        case Exited():
            return ""
        case Refused(_, reason):
            return reason
        case TimedOut(after):
            return f"Command timed out after {after * 1000:.15g} ms"
        case NotStarted(reason, hint):
            return f"Command could not be started: {reason}. {hint}".rstrip()
        case OverLimit():
            return f"Command went {outcome.summary}"
        case Running(task):
            return f"Command goes on as {task}"
        case Signalled() | Cancelled() | Killed() | Lost():
            return f"Command was {outcome.summary}"
        case _:
            assert_never(outcome)


def _data(result: Result, limit: int) -> dict[str, Any]:
    if isinstance(result.outcome, Refused):
        return _fields(success=False, stderr=result.outcome.reason, code=-1)
    if result.task is not None and result.task.pid == result.pid and _has_begun(result):
        started = f"Background task started: {result.task.id}"
        said, cut = _ended_already(result, limit)
        return _fields(success=True, stdout=started, stderr=said) | _further(result, cut)
    out, out_cut = shorten_stream(read_stream_text(result.out, result.redactor), limit)
    err, err_cut = shorten_stream(read_stream_text(result.err, result.redactor), limit)
    if note := _note(result, has_stderr=bool(err)):
        line = "" if not err or err.endswith("\n") else "\n"
        note, note_cut = shorten_stream(_mask_text(note, result), limit)
        err, err_cut = f"{err}{line}{note}", err_cut or note_cut
    made = _fields(
        success=result.ok, stdout=out, stderr=err, code=exit_code(result), duration=round(result.duration * 1000)
    )
    cut = out_cut or err_cut
    return made | ({"truncated": False} if result.ok and not cut else {}) | _further(result, cut)


def _fields(*, success: bool, stdout: str = "", stderr: str = "", code: int = 0, duration: int = 0) -> dict[str, Any]:
    return {"success": success, "stdout": stdout, "stderr": stderr, "exit_code": code, "duration_ms": duration}


def _further(result: Result, cut: bool) -> dict[str, Any]:
    task = {} if result.task is None else {"task_id": result.task.id, "output_file": result.task.output_file}
    return ({"truncated": True} if cut else {}) | task


def _has_begun(result: Result) -> bool:
    """Return whether the run is a task that has started: it still runs, or it has ended."""
    outcome = result.outcome
    return isinstance(outcome, Exited | Signalled) or (isinstance(outcome, Running) and not outcome.promoted)


def _ended_already(result: Result, limit: int) -> tuple[str, bool]:
    """Describe a task that failed before the call returned, and say whether the text is cut. The caller should not have
    to query that. Empty if the task has not failed."""
    if result.ok:
        return "", False
    said, cut = shorten_stream(read_stream_text(result.both, result.redactor), limit)
    return f"It has ended already: {result.summary}\n{said}", cut


def _note(result: Result, *, has_stderr: bool) -> str:
    if isinstance(result.outcome, Exited):
        return "" if result.ok or has_stderr else f"Command failed: {result.command}"
    return describe_end(result)


def _mask_text(text: str, result: Result) -> StreamText:
    text = clean(text)
    return StreamText(text if result.redactor is None else result.redactor.mask(text))
