"""Combined."""

from __future__ import annotations

from nacre.profiles.view import Combined
from nacre.result import Result
from nacre.views.answers.answer import Answer


def answer(result: Result, view: Combined) -> Answer:
    raise NotImplementedError
