"""Fields."""

from __future__ import annotations

from nacre.profiles.view import Fields
from nacre.result import Result
from nacre.views.answers.answer import Answer


def answer(result: Result, view: Fields) -> Answer:
    raise NotImplementedError
