"""Format `Summary`: a line about the command, and the end of its output. Longer output is kept in a file, complete.

Only the end of the output is examined, whatever its length. The texts in brackets are taken verbatim from the
specification.
"""

from __future__ import annotations

from typing import assert_never

from nacre.profiles.answer_format import Summary
from nacre.redact.mask import mask
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
    Spill,
    TimedOut,
)
from nacre.views.answers.answer import Answer
from nacre.views.model.with_spill import check_spill, write_spill


def answer(result: Result, view: Summary, directory: str | None, name: str) -> Answer:
    """Return the answer in this format."""
    line = f"$ {shorten_command(result.command, view.command)}{_ending(result.outcome)}"
    file, content = None, _instead(result.outcome)
    if result.both.total_bytes:
        file, content = _output_text(result, view, directory, name)
    return Answer(
        text=line if content is None else f"{line}\n{content}",
        data={
            "summary": line,
            "content": content,
            "exit_code": result.exit_code,
            "timed_out": result.timed_out,
            "bytes": result.total_bytes,
            "output_file": None if file is None else file.path,
            "task_id": None if result.task is None else result.task.id,
            "notes": list(result.notes),
        },
    )


def shorten_command(command: str, most: int) -> str:
    """Return the first line of the command, cut to `most` characters."""
    first = command.partition("\n")[0].removesuffix("\r").encode("utf-8", "replace").decode()  # no lone surrogates
    return first if len(first) <= most else first[: most - 3] + "..."


def _ending(outcome: Outcome) -> str:
    match outcome:
        case Exited(0):
            return ""
        case Exited(code):
            return f" (exit {code})"
        case Signalled():
            return " (terminated by signal)"
        case TimedOut(after):
            return f" (timed out after {after:g}s)"
        case Refused(rule):
            return f" (not run: refused by {rule})"
        case OverLimit() | Cancelled() | Killed() | Running() | NotStarted() | Lost():
            return f" ({outcome.summary})"
        case _:
            assert_never(outcome)


def _instead(outcome: Outcome) -> str | None:
    """Return what to show instead of output for a command that never ran; None if there is nothing."""
    match outcome:
        case Refused(_, reason, instead):
            return f"{reason}. Instead: {instead}" if instead else reason
        case NotStarted(_, hint):
            return hint or None
        case _:
            return None


def _output_text(result: Result, view: Summary, directory: str | None, name: str) -> tuple[Spill | None, str]:
    """Return the text to show, and the file with all of the output unless the text is complete."""
    both = result.both
    window = _window(both, view.window)
    whole = len(window) == both.total_bytes
    text = _mask_text(window.decode("utf-8", "replace"), result.redactor, cut=not whole)
    count = _lines(text)
    late = result.timed_out
    if whole and both.total_bytes <= view.bytes and count <= view.lines and not late:
        return None, text
    file = check_spill(result.spill)
    if file is None and not both.dropped_bytes:
        file = write_spill(both, None if directory is None else lambda: directory, name)
    if late:
        what, kept = "partial output before timeout", "full at"
    elif whole:
        what, kept = f"showing last {view.lines} of {count} lines", f"full output ({both.total_bytes} bytes) at"
    else:
        what, kept = f"showing last {view.lines} lines (tail of {both.total_bytes}-byte output)", "full at"
    if file is None:
        said = f"the {both.total_bytes} bytes could not be saved" if late or whole else "it could not be saved"
    else:
        said = f"{kept} {file.path}" if file.complete else f"only the first {file.bytes} bytes at {file.path}"
    return file, f"[{what} — {said}]\n{_last(text, view.lines)}"


def _window(captured: Captured, most: int) -> bytes:
    """Return the last `most` bytes, or fewer if not all of them were captured."""
    held = captured.tail if captured.dropped_bytes else captured.head + captured.tail
    return held[-most:]


def _mask_text(text: str, redactor: Redacts | None, *, cut: bool) -> str:
    return text if redactor is None else mask(text, redactor.values(), starts_cut=cut)


def _lines(text: str) -> int:
    """Count the lines. A newline at the end does not start another."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def _last(text: str, count: int) -> str:
    end = "\n" if text.endswith("\n") else ""
    return "\n".join(text.removesuffix("\n").rsplit("\n", count)[-count:]) + end
