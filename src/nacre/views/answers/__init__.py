"""Result → what a tool call gives back, in the shape that the profile has. May look at the spill file, and write one.

One module for each shape, the numbers come with it. Whatever they make is masked here once more.
"""

from __future__ import annotations

from typing import Any, assert_never, cast

from nacre.base.frozen import replace
from nacre.errors import InvalidRequest
from nacre.profiles.answer_format import AnswerFormat, Combined, Fields, Report, SeparateStreams, Summary, Text
from nacre.result import KINDS, Exited, Lost, NotStarted, Redacts, Result
from nacre.views.answers.answer import Answer

__all__ = ["Answer", "answer", "error_answer"]


def answer(result: Result, view: AnswerFormat, *, directory: str | None = None, name: str = "bash") -> Answer:
    """`directory`: where a file goes that has to be written; None: one that goes when this process does. `name`: what
    its name begins with."""
    made = _format_answer(result, view, directory, name)
    failed = KINDS[type(result.outcome)] if isinstance(result.outcome, NotStarted | Lost) else ""
    if result.redactor is None:
        return replace(made, error=failed, result=result)
    data = cast("dict[str, Any]", result.redactor.mask_all(dict(made.data)))
    return replace(made, text=result.redactor.mask(made.text), data=data, error=failed, result=result)


def preload(view: AnswerFormat) -> None:
    """Load what `answer` will need. Once a command has run it would be too late to find that no file can be opened."""
    if type(view) not in _ready:
        _format_answer(Result(command="", cwd="", outcome=Exited(0)), view, None, "")
        _ready.add(type(view))


_ready: set[type[AnswerFormat]] = set()


def error_answer(
    error: InvalidRequest, view: AnswerFormat | None = None, *, complaint: str = "", redactor: Redacts | None = None
) -> Answer:
    """A call that cannot be meant, in the shape of an answer where that has a place for it."""
    said = f"{complaint}{error}" if complaint else f"Error ({error.code}): {error}"
    told = {"code": error.code, "message": error.message, "field": error.field, "hint": error.hint}
    made = Answer(text=said, data={"error": told}, error=error.code)
    if isinstance(view, Fields):
        from nacre.views.answers import json_object

        made = json_object.error_fields(made, str(error))
    if redactor is None:
        return made
    return replace(made, text=redactor.mask(made.text), data=redactor.mask_all(dict(made.data)))


def _format_answer(result: Result, view: AnswerFormat, directory: str | None, name: str) -> Answer:
    match view:  # each is loaded by whoever needs it
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
