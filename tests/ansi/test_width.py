"""Grapheme clusters and their width in columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nacre
from nacre.ansi.width import (
    cells,
    columns,
    first_cut_after,
    is_simple,
    last_cut_before,
    max_columns,
    prefix_length,
    splits_character,
)


@pytest.mark.parametrize("whole", ["e\u0301", "👋🏽", "👩‍👩‍👧‍👦", "🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "각", "ก็"])
def test_grapheme_clusters_are_not_split(whole: str) -> None:
    text = f"a{whole}b"
    assert [place for place in range(len(text) + 1) if not splits_character(text, place)] == [
        0,
        1,
        1 + len(whole),
        len(text),
    ]
    for place in range(1, 1 + len(whole)):
        assert last_cut_before(text, place) == 1
        assert first_cut_after(text, place + 1) == 1 + len(whole) or place == len(whole)


def test_flag_emoji_are_split_only_between_pairs() -> None:
    flags = "🇩🇪🇫🇷🇮🇹"
    assert [place for place in range(7) if not splits_character(flags, place)] == [0, 2, 4, 6]


def test_endless_combining_marks_can_be_cut() -> None:
    text = "a" + "\u0301" * 1000
    assert last_cut_before(text, 500) == 500
    assert first_cut_after(text, 500) == 500


def test_only_one_module_uses_east_asian_width() -> None:
    sources = Path(nacre.__file__).parent.rglob("*.py")
    assert len([path for path in sources if "east_asian_width" in path.read_text(encoding="utf-8")]) == 1


def test_cells_pad_wide_characters_and_is_simple_rejects_them() -> None:
    assert list(cells("a日e\u0301👩‍👧")) == ["a", "日", "", "e\u0301", "👩‍👧", ""]
    assert is_simple("naïve ━━╸ ⠙ →")
    assert not is_simple("日")
    assert not is_simple("e\u0301")


FAMILY = "👨‍👩‍👧‍👦"
WIDTHS = {
    "": 0,
    "naïve ━━╸ ⠙ → …": 15,
    "a\tb": 3,
    "a\x01b\x7f": 4,
    "日本": 4,
    "ｶﾞ": 2,
    "e\u0301": 1,
    "e\u0301\u0302": 1,
    "\u0301": 1,  # no character before it to combine with
    "ก็": 1,
    "का": 2,  # a combining mark that takes a column
    "각": 2,
    "👍": 2,
    "👍🏽": 2,
    "👍🏽🏽🏽": 6,  # only the first skin tone combines
    "a🏽": 3,
    FAMILY: 2,
    f"a{FAMILY}b{FAMILY}": 6,
    "🇩🇪": 2,
    "🇩🇪🇫🇷": 4,
    "🇩": 1,
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿": 2,
    "❤": 1,
    "❤\ufe0f": 1,
    "1\ufe0f\u20e3": 1,
    "a\u200bb": 3,
    "a\u200db\u200dc": 3,  # a joiner does not join letters
}


@pytest.mark.parametrize(("text", "width"), WIDTHS.items())
def test_columns_counts_terminal_columns(text: str, width: int) -> None:
    assert columns(text) == width
    assert len(list(cells(text))) == width


@pytest.mark.parametrize(
    ("text", "room", "count"),
    [
        ("abc", 0, 0),
        ("abc", -1, 0),
        ("abc", 2, 2),
        ("abc", 9, 3),
        ("a─…", 2, 2),
        ("日本", 3, 1),
        ("e\u0301e\u0301", 1, 2),
        (FAMILY * 2, 1, 0),
        (FAMILY * 2, 2, len(FAMILY)),
        (FAMILY * 2, 3, len(FAMILY)),
        ("🇩🇪🇫🇷", 3, 2),
        ("का", 1, 0),
    ],
)
def test_prefix_length_ends_between_characters(text: str, room: int, count: int) -> None:
    assert prefix_length(text, room) == count


PIECES = [*"ab \t日é─…", "\u0301", "\u093e", "\u1100", "\u1161", "👍", "🏽", "\u200d", "\ufe0f", "🇩", "🇪", FAMILY]
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))


@given(TEXTS, st.integers(-1, 40))
def test_columns_cells_and_prefix_length_agree(text: str, room: int) -> None:
    width, count = columns(text), prefix_length(text, room)
    assert len(list(cells(text))) == width
    assert "".join(cells(text)) == text
    assert columns(text[:count]) <= max(room, 0)
    assert not splits_character(text, count)
    assert count == len(text) or columns(text[: first_cut_after(text, count + 1)]) > room
    assert width <= sum(map(max_columns, text))
