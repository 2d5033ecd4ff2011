"""Format `SeparateStreams`: the exit code, and each stream up to a limit. Bytes beyond the limit are counted."""

from __future__ import annotations

from typing import Any

from nacre.base.frozen import frozen
from nacre.base.utf8 import incomplete_suffix
from nacre.profiles.answer_format import SeparateStreams
from nacre.redact.mask import mask
from nacre.result import Captured, Exited, Lost, NotStarted, Redacts, Refused, Result
from nacre.views.answers.answer import Answer

NO_EXIT_CODE = -1
"""For a run that did not exit by itself."""


@frozen
class TextHead:
    """The beginning of a stream."""

    text: str
    left_out: int = 0
    """Bytes beyond it."""


def answer(result: Result, view: SeparateStreams) -> Answer:
    """Return the answer in this format."""
    out, err = read_head(result.out, view.limit, result.redactor), read_head(result.err, view.limit, result.redactor)
    code = NO_EXIT_CODE if result.exit_code is None else result.exit_code
    data: dict[str, Any] = {
        "exit_code": code,
        "stdout": out.text,
        "stderr": err.text,
        "timed_out": result.timed_out,
        "metadata": {
            "duration": round(result.duration, 6),
            "operation_id": "",
            "primitive": "bash",
            "stdout_left_out": out.left_out,
            "stderr_left_out": err.left_out,
            "task": None if result.task is None else result.task.id,
        },
    }
    if trouble := _failure_text(result):
        data["error"] = {"kind": trouble[0], "message": trouble[1]}
        return Answer(text=f"Error: {trouble[1]}", data=data)
    ended = "" if isinstance(result.outcome, Exited) else f" ({result.summary})"
    parts = [f"exit_code: {code}{ended}", *_section("stdout", out), *_section("stderr", err), *result.notes]
    return Answer(text="\n".join(parts), data=data)


def read_head(captured: Captured, limit: int, redactor: Redacts | None) -> TextHead:
    """Decode up to `limit` bytes as UTF-8, cut between characters, with invalid bytes replaced. A secret is masked even
    if the cut leaves only its beginning."""
    held = captured.head if captured.dropped_bytes else captured.head + captured.tail
    kept = held[:limit]
    cut = len(kept) < captured.total_bytes
    if cut:
        kept = kept[: len(kept) - incomplete_suffix(kept)]
    text = kept.decode("utf-8", "replace")
    if redactor is not None and (values := redactor.values()):
        text = mask(text, values, ends_cut=cut)
    return TextHead(text, captured.total_bytes - len(kept))


def _failure_text(result: Result) -> tuple[str, str] | None:
    """Return kind and message of the error if the command did not run or its end is unknown, else None."""
    match result.outcome:
        case Refused(_, reason, instead):
            return "validation", f"{reason}. Instead: {instead}" if instead else reason
        case NotStarted(reason, hint):
            return "io", f"{reason} {hint}".strip()
        case Lost(reason):
            return "io", reason
        case _:
            return None


def _section(name: str, shown: TextHead) -> list[str]:
    parts = [shown.text.removesuffix("\n")] if shown.text else []
    if shown.left_out:
        parts.append(f"[{shown.left_out:,} more bytes of {name} left out]")
    return [f"{name}:", *parts] if parts else []
