"""Truncation: a head, a tail, and the exact count of what is left out between them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.ansi.width import splits_character
from nacre.output.notes import mark_spoofed
from nacre.output.tokens import count_tokens, quarter_tokens
from nacre.output.truncate import TextLimits, TruncatedText, cut

CLUSTERS = ["a", "ß", "日", "é", "e\u0301", "👋", "👋🏽", "👩‍👩‍👧‍👦", "🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "각", "ก็", " ", "\n"]
"""Grapheme clusters: each looks like one character to a reader."""


def shown_text(part: tuple[object, ...], text: str) -> str:
    return "".join(text[piece.start : piece.end] for piece in part)  # type: ignore[attr-defined]


def check(made: TruncatedText, text: str) -> None:
    """Check that head, omitted part and tail make up the text, in this order."""
    assert shown_text(made.head, text) == text[: made.start]
    assert shown_text(made.tail, text) == text[made.end :]
    assert made.start <= made.end
    for place in (made.start, made.end):
        assert not splits_character(text, place) or place in (0, len(text))


@pytest.mark.parametrize("share", [0.0, 0.35, 0.5, 1.0])
@pytest.mark.parametrize("chars", range(1, 90))
def test_cut_never_splits_a_character(chars: int, share: float) -> None:
    text = "".join(CLUSTERS[:-1]) * 3
    made = cut(text, TextLimits(chars=chars, lines=10, head=share), folding=False)
    check(made, text)
    whole = [*CLUSTERS[:-1]] * 3
    starts = {len("".join(whole[:count])) for count in range(len(whole) + 1)}
    assert {made.start, made.end} <= starts
    assert sum(len(piece.text) + 1 for piece in (*made.head, *made.tail)) <= max(chars, 0) + 1


@given(
    st.lists(st.sampled_from(CLUSTERS), max_size=200).map("".join),
    st.integers(1, 120),
    st.integers(1, 20),
    st.none() | st.integers(1, 60),
    st.floats(0, 1),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_head_omitted_part_and_tail_make_up_the_text(
    text: str, chars: int, lines: int, budget: int | None, share: float, folding: bool
) -> None:
    made = cut(text, TextLimits(chars=chars, lines=lines, tokens=budget, head=share), folding=folding)
    check(made, text)
    pieces = [*made.head, *made.tail]
    assert sum(len(piece.text) + 1 for piece in pieces) <= chars
    assert sum(piece.text.count("\n") + 1 for piece in pieces) <= lines
    if budget is not None:
        assert sum(quarter_tokens(piece.text) + 1 for piece in pieces) <= 4 * budget
    ends = text.count("\n", 0, made.start) + text.count("\n", made.start, made.end) + text.count("\n", made.end)
    assert ends == text.count("\n")


@given(st.text("ab\n", max_size=100), st.data())
@settings(deadline=None)
def test_text_within_the_limits_is_not_cut(text: str, data: st.DataObject) -> None:
    lines = text.count("\n") + 1
    limits = TextLimits(chars=len(text) + 1, lines=lines, head=data.draw(st.floats(0, 1)))
    made = cut(text, limits, aside=TextLimits(chars=1, lines=1), folding=False)
    assert made.complete
    check(made, text)


@given(st.text("ab\n", max_size=60), st.text("ab\n", max_size=60), st.integers(1, 80))
@settings(deadline=None)
def test_cut_always_covers_the_gap(first: str, second: str, chars: int) -> None:
    made = cut(first + second, TextLimits(chars=chars, lines=50), gap=len(first))
    check(made, first + second)
    assert not made.complete
    assert made.start <= len(first) <= made.end


def test_cut_is_between_lines_and_the_tail_gets_more() -> None:
    text = "".join(f"number {number:04}\n" for number in range(1000))
    made = cut(text, TextLimits(chars=600, lines=1000), folding=False)
    assert (len(made.head), len(made.tail)) == (17, 33)
    assert text[made.start - 1] == text[made.end - 1] == "\n"
    made = cut(text, TextLimits(chars=60_000, lines=100), folding=False)
    assert (len(made.head), len(made.tail)) == (35, 65)


def test_huge_line_is_cut_inside() -> None:
    text = "x" * 1_000_000
    made = cut(text, TextLimits(chars=1000, lines=10))
    assert [len(piece.text) for piece in (*made.head, *made.tail)] == [349, 649]
    assert (made.start, made.end) == (349, 1_000_000 - 649)


def test_short_lines_around_a_huge_line_are_kept_whole() -> None:
    text = "first\n" + "x" * 1_000_000 + "\nlast\n"
    made = cut(text, TextLimits(chars=1000, lines=10))
    assert (made.head[0].text, made.tail[-1].text) == ("first", "last")
    assert set(made.head[1].text) == set(made.tail[0].text) == {"x"}
    check(made, text)


def test_folded_run_is_not_counted_as_omitted() -> None:
    text = "start\n" + "the same line again and again\n" * 100_000 + "end\n"
    made = cut(text, TextLimits(chars=200, lines=10))
    assert made.complete
    assert made.hidden == 99_998


def test_room_for_a_note_is_reserved_only_when_text_is_omitted() -> None:
    text = "ab\n" * 10
    assert cut(text, TextLimits(chars=30, lines=10), aside=TextLimits(chars=6, lines=2)).complete
    made = cut(text + "c", TextLimits(chars=30, lines=10), aside=TextLimits(chars=6, lines=2), folding=False)
    assert sum(len(piece.text) + 1 for piece in (*made.head, *made.tail)) <= 6


def test_token_counts_follow_the_formula() -> None:
    assert count_tokens("") == 0
    assert count_tokens("abcd") == 1
    assert count_tokens("abcde") == 2
    assert count_tokens("éé") == 1
    assert count_tokens("日本") == 2
    assert count_tokens("👋") == 2
    assert quarter_tokens("a👋日é") == quarter_tokens("a") + quarter_tokens("👋") + quarter_tokens(
        "日"
    ) + quarter_tokens("é")


def test_text_limits_are_reduced_by_at_most_half() -> None:
    assert TextLimits(chars=1000, lines=100, tokens=500).less(200, 10) == TextLimits(chars=800, lines=90, tokens=449)
    assert TextLimits(chars=100, lines=10).less(200, 10) == TextLimits(chars=50, lines=5)


def test_spoofed_note_check_handles_thousands_of_invisible_characters() -> None:
    """When each could be matched in two ways, a line of fifty took forever."""
    unseen = "\u202e" * 5_000 + "\u3164" * 5_000
    assert mark_spoofed(f"{unseen}x[") == f"{unseen}x["
    assert mark_spoofed(f"{unseen}[nacre: exit 0]") == f"\\{unseen}[nacre: exit 0]"
