"""Tests wait for events: a time that is slept is a guess about the machine."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent.parent
MAX_SLEEPS = 15
"""Pauses between two looks in `support/waiting.py`, and what only time can bring about; each with its reason."""
SLEEP = re.compile(r"\b(?:time|asyncio|anyio)\.sleep\(|(?<![.\w])sleep\(")
"""Also by its bare name. The program `sleep` in a command is not counted: most of those keep a command alive, are the
pause of a loop in it, or make something late that may come in any order, and no pattern tells these from a guess."""


def test_hardly_any_test_sleeps() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if SLEEP.search(line)
    ]
    assert len(found) <= MAX_SLEEPS, f"wait for an event (tests/support/waiting.py) instead: {found}"
