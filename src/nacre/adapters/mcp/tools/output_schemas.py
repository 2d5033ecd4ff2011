"""JSON Schemas of the structured content that each tool returns, one per answer format. Pure data.

Additional properties are allowed: answers may get more fields.
"""

from __future__ import annotations

from typing import Any, assert_never

from nacre.outcomes import OUTCOMES
from nacre.profiles.answer_format import AnswerFormat, Combined, Fields, Report, SeparateStreams, Summary, Text

_TEXT: dict[str, Any] = {"type": "string"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_WHOLE: dict[str, Any] = {"type": "integer"}
_NUMBER: dict[str, Any] = {"type": "number"}
_MAYBE_TEXT: dict[str, Any] = {"type": ["string", "null"]}
_MAYBE_WHOLE: dict[str, Any] = {"type": ["integer", "null"]}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_ANYTHING: dict[str, Any] = {"type": "object"}
_CODE = {**_MAYBE_WHOLE, "description": "The shell's exit status; null if it has none: see the outcome."}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


_OF_TEXT = _object(
    {
        "text": _TEXT,
        "ok": _FLAG,
        "exit_code": _CODE,
        "outcome": _object({"kind": {"type": "string", "enum": list(OUTCOMES)}}),
        "duration_seconds": _NUMBER,
        "task_id": _MAYBE_TEXT,
        "output_file": _MAYBE_TEXT,
    }
)
_OF_FIELDS = _object(
    {"success": _FLAG, "stdout": _TEXT, "stderr": _TEXT, "exit_code": _WHOLE, "duration_ms": _WHOLE},
    {"truncated": _FLAG, "task_id": _TEXT, "output_file": _TEXT},
)
_OF_REPORT = _object(
    {
        "command": _TEXT,
        "exit_code": _CODE,
        "working_dir": _TEXT,
        "stdout": _TEXT,
        "stderr": _TEXT,
        "is_truncated": _FLAG,
        "outcome": _TEXT,
        "duration_ms": _WHOLE,
    }
)
_OF_COMBINED = _object(
    {"command": _TEXT, "display": _TEXT, "output": _TEXT, "exit_code": _CODE, "timed_out": _FLAG, "truncated": _FLAG}
)
_OF_SUMMARY = _object(
    {
        "summary": _TEXT,
        "content": _MAYBE_TEXT,
        "exit_code": _CODE,
        "timed_out": _FLAG,
        "bytes": _WHOLE,
        "output_file": _MAYBE_TEXT,
        "task_id": _MAYBE_TEXT,
        "notes": _TEXTS,
    }
)
_OF_STREAMS = _object(
    {"exit_code": _WHOLE, "stdout": _TEXT, "stderr": _TEXT, "timed_out": _FLAG, "metadata": _ANYTHING},
    {"error": _ANYTHING},
)


def of_view(view: AnswerFormat) -> dict[str, Any]:
    """Return the schema of a run's answer in this format."""
    match view:
        case Text():
            return _OF_TEXT
        case Fields():
            return _OF_FIELDS
        case Report():
            return _OF_REPORT
        case Combined():
            return _OF_COMBINED
        case Summary():
            return _OF_SUMMARY
        case SeparateStreams():
            return _OF_STREAMS
        case _:
            assert_never(view)


_TASK = _object(
    {
        "id": _TEXT,
        "state": {"type": "string", "enum": ["running", "ended", "lost", "broken"]},
        "exit_code": _MAYBE_WHOLE,
        "summary": _TEXT,
        "command": _TEXT,
        "description": _TEXT,
        "cwd": _TEXT,
        "pid": _MAYBE_WHOLE,
        "bytes": _WHOLE,
        "duration": _NUMBER,
        "output_file": _TEXT,
        "notes": _TEXTS,
    }
)
TASK_FIELDS: tuple[str, ...] = tuple(_TASK["required"])
"""Names of the fields of `Task.to_dict` that are returned."""
ONE_TASK = _object({"text": _TEXT, "task": _TASK})
TASKS = _object({"text": _TEXT, "tasks": {"type": "array", "items": _TASK}})
WAIT_RESULT = _object(
    {
        "text": _TEXT,
        "met": {**_TEXTS, "description": "Ids of the tasks that met the condition."},
        "ended": {**_TEXTS, "description": "Ids of the tasks that ended without meeting it."},
        "timed_out": _FLAG,
        "match": {"type": "object", "additionalProperties": _TEXT, "description": "The line that matched, by id."},
        "tasks": {"type": "array", "items": _TASK},
    }
)
VERDICT = _object(
    {
        "decision": {"type": "string", "enum": ["allow", "ask", "refuse"]},
        "rule": _TEXT,
        "reason": _TEXT,
        "instead": _TEXT,
        "span": {"type": "array", "items": _WHOLE},
        "plain": _FLAG,
        "unknown": _TEXTS,
        "findings": {"type": "array", "items": _ANYTHING},
    }
)
