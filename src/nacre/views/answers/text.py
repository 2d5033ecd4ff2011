"""Format `Text`, nacre's own: one text for the model, and the Result as data."""

from __future__ import annotations

from nacre.outcomes import outcome_data
from nacre.output.shape import ShapeOptions
from nacre.profiles.answer_format import Text
from nacre.result import Result
from nacre.views.answers.answer import Answer
from nacre.views.model.text import ModelOptions
from nacre.views.model.with_spill import for_model


def answer(result: Result, view: Text, directory: str | None, name: str) -> Answer:
    """Return the answer in this format."""
    options = ModelOptions(
        output=ShapeOptions(chars=view.chars, lines=view.lines, tokens=view.tokens),
        separate_streams=view.separate_streams,
    )
    text = for_model(result, options, directory=None if directory is None else lambda: directory, name=name)
    return Answer(
        text=text,
        data={
            "text": text,
            "ok": result.ok,
            "exit_code": result.exit_code,
            "outcome": outcome_data(result.outcome),
            "duration_seconds": round(result.duration, 3),
            "task_id": None if result.task is None else result.task.id,
            "output_file": None if result.task is None else result.task.output_file,
        },
    )
