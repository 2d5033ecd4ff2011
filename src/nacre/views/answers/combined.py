"""Format `Combined`: one stream in order of arrival, cut in the middle if too long, between notes on how the run ended.

nacre's notes begin with `[nacre: `; output that imitates one is marked (`nacre.output.notes`).
"""

from __future__ import annotations

from typing import Any

from nacre.ansi.decode import clean
from nacre.base.utf8 import continuation_prefix, incomplete_suffix
from nacre.output.notes import mark_spoofed, nacre_note
from nacre.profiles.answer_format import Combined
from nacre.redact.mask import mask
from nacre.result import Captured, NotStarted, Refused, Result, Running, Spill, TaskRef
from nacre.views.answers.answer import Answer
from nacre.views.console.short_command import MAX_COLUMNS, shorten
from nacre.views.model.text import DEFAULT, describe_end, is_redundant
from nacre.views.model.with_spill import check_spill

_MAX_COMMAND_CHARS = 100_000
"""Longest one-line command that is displayed in full, except for a `cd` to the directory it runs in."""


def answer(result: Result, view: Combined) -> Answer:
    """Return the answer in this format."""
    head, tail, missing = _ends(result.both, view)
    secrets = () if result.redactor is None else result.redactor.values()
    parts = [
        mask(head.decode("utf-8", "replace"), secrets, ends_cut=missing > 0),
        mask(tail.decode("utf-8", "replace"), secrets, starts_cut=True) if missing else "",
    ]
    gap = nacre_note(_missing(missing, result.total_bytes, check_spill(result.spill))) if missing else ""
    output = mark_spoofed(parts[0]) + _gap_text(parts[0], gap) + mark_spoofed(parts[1])
    before = [_describe_end(result)]
    after = [_one_line(note) for note in result.notes if not is_redundant(note, result)] + [_left_running(result)]
    return Answer(
        text=_join_parts(
            [nacre_note(each) for each in before if each], output, [nacre_note(each) for each in after if each]
        ),
        data={
            "command": result.command,
            "display": shorten(result.command, result.cwd, most=_columns(result.command)),
            "output": parts[0] + _gap_text(parts[0], gap) + parts[1],
            "exit_code": result.exit_code,
            "timed_out": result.timed_out,
            "truncated": missing > 0,
            **_background(result.task),
        },
    )


def _columns(command: str) -> int:
    return (
        10 * _MAX_COMMAND_CHARS if len(command) <= _MAX_COMMAND_CHARS and "\n" not in command.strip() else MAX_COLUMNS
    )


def _ends(captured: Captured, view: Combined) -> tuple[bytes, bytes, int]:
    """Return the beginning and the end, cut between characters, and the number of bytes between them."""
    if captured.total_bytes <= view.truncate_above and not captured.dropped_bytes:
        return captured.head + captured.tail, b"", 0
    held = b"" if captured.dropped_bytes else captured.head + captured.tail
    head, tail = (held or captured.head)[: view.ends], (held or captured.tail)[-view.ends :]
    head, tail = head[: len(head) - incomplete_suffix(head)], tail[continuation_prefix(tail) :]
    return head, tail, captured.total_bytes - len(head) - len(tail)


def _missing(count: int, seen: int, spill: Spill | None) -> str:
    said = f"output truncated: {count:,} of {seen:,} bytes left out here"
    if spill is None:
        return said
    return f"{said}; {'all of it is' if spill.complete else f'the first {spill.bytes:,} bytes are'} in {spill.path}"


def _gap_text(head: str, gap: str) -> str:
    return "" if not gap else f"{gap}\n" if head.endswith("\n") or not head else f"\n{gap}\n"


def _describe_end(result: Result) -> str:
    """Describe how the run ended; empty for success with output."""
    if isinstance(result.outcome, Running) and result.task is not None:
        return f"it runs in the background: {_task(result.task)}; the last line there will tell how it ended"
    said = _one_line(describe_end(result, DEFAULT))
    if result.total_bytes or isinstance(result.outcome, Refused | NotStarted | Running):
        return said
    return f"{said}; no output" if said else "no output"


def _left_running(result: Result) -> str:
    if result.task is None or isinstance(result.outcome, Running):
        return ""
    if result.task.pid == result.pid:
        return f"it was task {result.task.id}, process {result.task.pid}, output in {result.task.output_file}"
    return f"what it left running is {_task(result.task)}"


def _task(task: TaskRef) -> str:
    return (
        f"task {task.id}, process {task.pid}, process group {task.pgid}, output in {task.output_file}; "
        f"`kill -9 -{task.pgid}` ends it"
    )


def _background(task: TaskRef | None) -> dict[str, Any]:
    if task is None:
        return {}
    return {"task_id": task.id, "pid": task.pid, "pgid": task.pgid, "output_file": task.output_file}


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _join_parts(before: list[str], output: str, after: list[str]) -> str:
    """Join notes and output, each on its own lines. Output without notes is returned unchanged."""
    if not before and not after:
        return output
    return "\n".join([*before, *([output.removesuffix("\n")] if output else []), *after])
