"""Converts a Result to the answer of a tool call, in the format of the profile. May read the spill file, and write one.

Each format has one module, imported with its limits when needed. Every answer is masked here once more.
"""

from __future__ import annotations

from typing import Any, assert_never, cast

from nacre.base.frozen import replace
from nacre.errors import InvalidRequest
from nacre.profiles.answer_format import AnswerFormat, Combined, Fields, Report, SeparateStreams, Summary, Text
from nacre.result import Exited, Lost, NotStarted, Redacts, Result
from nacre.views.answers.answer import Answer

__all__ = ["Answer", "answer", "error_answer"]


def answer(result: Result, view: AnswerFormat, *, directory: str | None = None, name: str = "bash") -> Answer:
    """Return the answer to a call that ran. `directory`: for a file that has to be written; None: a private one,
    removed when this process exits. `name`: prefix of the file's name."""
    made = _format_answer(result, view, directory, name)
    failed = result.outcome.kind if isinstance(result.outcome, NotStarted | Lost) else ""
    if result.redactor is None:
        return replace(made, error=failed, result=result)
    data = cast("dict[str, Any]", result.redactor.mask_all(dict(made.data)))
    return replace(made, text=result.redactor.mask(made.text), data=data, error=failed, result=result)


def preload(view: AnswerFormat) -> None:
    """Import the modules that `answer` needs. Once a command has run, a lack of file descriptors could prevent that."""
    if type(view) not in _ready:
        _format_answer(Result(command="", cwd="", outcome=Exited(0)), view, None, "")
        _ready.add(type(view))


_ready: set[type[AnswerFormat]] = set()


def error_answer(
    error: InvalidRequest, view: AnswerFormat | None = None, *, complaint: str = "", redactor: Redacts | None = None
) -> Answer:
    """Return the answer to an invalid call, in the format of `view` if that has a place for errors. `complaint`
    replaces the usual prefix of the message."""
    said = f"{complaint}{error}" if complaint else f"Error ({error.code}): {error}"
    details = {"code": error.code, "message": error.message, "field": error.field, "hint": error.hint}
    made = Answer(text=said, data={"error": details}, error=error.code)
    if isinstance(view, Fields):
        from nacre.views.answers import json_object

        made = json_object.error_fields(made, str(error))
    if redactor is None:
        return made
    return replace(made, text=redactor.mask(made.text), data=redactor.mask_all(dict(made.data)))


def _format_answer(result: Result, view: AnswerFormat, directory: str | None, name: str) -> Answer:
    match view:  # imports only the module in use
        case Text():
            from nacre.views.answers import text

            return text.answer(result, view, directory, name)
        case Fields():
            from nacre.views.answers import json_object

            return json_object.answer(result, view)
        case Report():
            from nacre.views.answers import report

            return report.answer(result, view)
        case Combined():
            from nacre.views.answers import combined

            return combined.answer(result, view)
        case Summary():
            from nacre.views.answers import summary

            return summary.answer(result, view, directory, name)
        case SeparateStreams():
            from nacre.views.answers import streams

            return streams.answer(result, view)
        case _:
            assert_never(view)
