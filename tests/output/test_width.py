"""Which characters belong together."""

from __future__ import annotations

import pytest

from nacre.output.width import cells, is_simple, not_after, not_before, splits


@pytest.mark.parametrize("whole", ["e\u0301", "👋🏽", "👩‍👩‍👧‍👦", "🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "각", "ก็"])
def test_what_is_one_character_to_a_reader_is_not_split(whole: str) -> None:
    text = f"a{whole}b"
    assert [place for place in range(len(text) + 1) if not splits(text, place)] == [0, 1, 1 + len(whole), len(text)]
    for place in range(1, 1 + len(whole)):
        assert not_after(text, place) == 1
        assert not_before(text, place + 1) == 1 + len(whole) or place == len(whole)


def test_flags_are_pairs() -> None:
    flags = "🇩🇪🇫🇷🇮🇹"
    assert [place for place in range(7) if not splits(flags, place)] == [0, 2, 4, 6]


def test_a_pile_of_marks_without_end_is_cut_all_the_same() -> None:
    text = "a" + "\u0301" * 1000
    assert not_after(text, 500) == 500
    assert not_before(text, 500) == 500


def test_columns() -> None:
    assert list(cells("a日e\u0301👩‍👧")) == ["a", "日", "", "e\u0301", "👩‍👧", ""]
    assert is_simple("naïve ━━╸ ⠙ →")
    assert not is_simple("日")
    assert not is_simple("e\u0301")
