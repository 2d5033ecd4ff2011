"""Summary."""

from __future__ import annotations

from nacre.profiles.view import Summary
from nacre.result import Result
from nacre.views.answers.answer import Answer


def answer(result: Result, view: Summary, directory: str | None) -> Answer:
    raise NotImplementedError
