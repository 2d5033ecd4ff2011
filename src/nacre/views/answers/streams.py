"""Streams."""

from __future__ import annotations

from nacre.profiles.view import Streams
from nacre.result import Result
from nacre.views.answers.answer import Answer


def answer(result: Result, view: Streams) -> Answer:
    raise NotImplementedError
