"""Results as the views receive them."""

from __future__ import annotations

from nacre import Result
from nacre.base.frozen import replace
from nacre.result import Outcome
from tests.support.plain_bash import captured_text


def result(outcome: Outcome, text: str = "", command: str = "work", **more: object) -> Result:
    base = Result(
        command=command, cwd="/", outcome=outcome, out=captured_text(text), both=captured_text(text), duration=2.5
    )
    return replace(base, **more)
