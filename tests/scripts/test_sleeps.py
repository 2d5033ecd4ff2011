"""Tests wait for events: a sleep is a guess about the machine."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent.parent
MAX_SLEEPS = 15
"""Pauses between two polls in `support/waiting.py`, and waits for what only time can bring; each has its reason."""
SLEEP = re.compile(r"\b(?:time|asyncio|anyio)\.sleep\(|(?<![.\w])sleep\(")
"""Also by the bare name. The program `sleep` in a command is not counted: most of those keep a command alive, pause a
loop in it, or delay something whose order does not matter, and no pattern tells these from a guess."""


def test_sleep_calls_in_tests_do_not_exceed_the_limit() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if SLEEP.search(line)
    ]
    assert len(found) <= MAX_SLEEPS, f"wait for an event (tests/support/waiting.py) instead: {found}"
