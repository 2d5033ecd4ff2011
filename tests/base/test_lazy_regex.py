"""Regular expressions in the source code."""

from __future__ import annotations

import re
from pathlib import Path

import nacre
from nacre.base.lazy_regex import lazy_regex

SOURCES = sorted(Path(nacre.__file__).parent.rglob("*.py"))


def test_no_regex_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 matches wrongly with such a group."""
    found = [
        f"{path.name}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"""\)(?:[*+?]|\{[0-9,]+\})\+[^\w =]""", line) and ('r"' in line or "r'" in line)
    ]
    assert found == []


def test_lazy_regex_behaves_like_a_compiled_one() -> None:
    pattern = lazy_regex(r"(a)(b)?", re.IGNORECASE)
    assert pattern.pattern == r"(a)(b)?"
    found = pattern.match("AB")
    assert found is not None
    assert found.groups() == ("A", "B")
    assert pattern.sub("x", "ab a") == "x x"
