"""Report."""

from __future__ import annotations

from nacre.profiles.view import Report
from nacre.result import Result
from nacre.views.answers.answer import Answer


def answer(result: Result, view: Report) -> Answer:
    raise NotImplementedError
