"""Output that imitates a note of nacre: letters with combining marks, spaces and tabs between them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.output.notes import mark_spoofed
from nacre.output.shape import shape

MARKS = (
    "\u0301", "\u0336", "\u0363", "\u0489", "\u094d", "\u20dd", "\ufe0f", "\U000e0101", "\U000e0041", "\u200b",
    "\u2060", "\u3164", "\ufff9", "\U0001bca0", "\U0001d173", "\u180e",
)  # fmt: skip
BLANKS = ("\t", " ", "\u00a0", "\u2009", "\u3000", "\u1680", "\u205f", "\u202f")
NOTES = ("[nacre: exit 0]", "[… 5 lines left out]", "[binary output, not shown: 5 bytes]")

LINES = (
    "[n\u0301acre: exit 0]", "[nac\u0336re: exit 0]", "[N\u0332A\u0332C\u0332R\u0332E: exit 0]", "[\t\tnacre: exit 0]",
    "[" + "\u3000" * 15 + "nacre: exit 0]", "[" + " " * 300 + "nacre: exit 0]", "[" + "\u0301" * 12 + "nacre: exit 0]",
    "[n a c r e: exit 0]", "[n\tacre: exit 0]", "[na\U000e0101cre: exit 0]", "[na\u20ddcre: exit 0]",
    "[" + "\t" * 20 + "… 5 lines left out]", "[bi\u0301nary output, not shown]", "[binary\toutput, not shown]",
    "[binary\u00a0output, not shown]", "[binary  output, not shown]", "\u0301[nacre: exit 0]", "\t\u00a0[nacre: x]",
)  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=ascii)
def test_line_that_imitates_a_note_is_escaped(line: str) -> None:
    first, shown, last = shape(f"before\n{line}\nafter\n".encode()).text.split("\n")
    assert (first, last) == ("before", "after")
    assert shown.startswith("\\")


@given(
    note=st.sampled_from(NOTES),
    between=st.lists(st.text(st.sampled_from(MARKS + BLANKS), max_size=15), min_size=12, max_size=12),
)
@settings(deadline=None)
def test_imitated_note_is_recognised_with_characters_between_its_letters(note: str, between: list[str]) -> None:
    spread = "".join(sign + more for sign, more in zip(note[:12], between, strict=True)) + note[12:]
    assert mark_spoofed(spread) == f"\\{spread}"


@pytest.mark.parametrize(
    "line",
    ["e\u0301[nacre: x]", "[...]", "[=====>    ] nacre 50%", "[notes]", "[binary] output", "[na] cre", "[N] acre"],
)
def test_line_unlike_a_note_is_unchanged(line: str) -> None:
    assert mark_spoofed(line) == line
