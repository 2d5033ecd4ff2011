"""Grapheme boundaries and column widths of text. Pure.

Approximate and cheap: no table of its own, only `unicodedata`. Enough to find where a text may be cut and where a
terminal would put the next character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from nacre.base.lazy_regex import lazy_regex

_SIMPLE = lazy_regex(r"[\t\x20-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u2319\u2400-\u25fc\u2800-\u28ff]*")
"""Latin, Greek, Cyrillic, arrows, boxes, bars and spinners: one column each, none joins another."""
_ZWJ = "\u200d"
_JOINS, _NARROW, _WIDE, _SKIN_TONE = 0, 1, 2, 3
_MAX_LOOKBACK_CHARS = 64
"""Characters after which a cut is made in any case: some texts have endless sequences of combining marks."""


def is_simple(text: str) -> bool:
    """Return true if every character has one column and joins no other. May return false too often, never true."""
    return text.isascii() or _SIMPLE.fullmatch(text) is not None


def joins_previous(char: str) -> bool:
    """Return true if the character belongs to the one before it."""
    if char < "\u0300":
        return False
    return (
        char == _ZWJ
        or unicodedata.category(char) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags, in flags
        or "\u1160" <= char <= "\u11ff"  # the vowels and finals of a Hangul syllable
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def splits_character(text: str, place: int) -> bool:
    """Return true if a cut at `place` would split what a reader takes for one character."""
    if not 0 < place < len(text):
        return False
    after, before = text[place], text[place - 1]
    if after < "\u0300" or before == "\n":
        return False
    if joins_previous(after) or before == _ZWJ:
        return True
    if not (_is_flag_half(after) and _is_flag_half(before)):
        return False
    start = place - 1
    while start > max(0, place - _MAX_LOOKBACK_CHARS) and _is_flag_half(text[start - 1]):
        start -= 1
    return (place - start) % 2 == 1


def last_cut_before(text: str, place: int, least: int = 0) -> int:
    """Return the last position at or before `place` at which the text may be cut."""
    place = max(least, min(place, len(text)))
    back = place
    while back > least and place - back < _MAX_LOOKBACK_CHARS and splits_character(text, back):
        back -= 1
    return place if splits_character(text, back) and back > least else back


def first_cut_after(text: str, place: int, most: int | None = None) -> int:
    """Return the first position at or after `place` at which the text may be cut."""
    most = len(text) if most is None else most
    place = min(most, max(place, 0))
    on = place
    while on < most and on - place < _MAX_LOOKBACK_CHARS and splits_character(text, on):
        on += 1
    return place if splits_character(text, on) and on < most else on


def cells(text: str) -> Iterator[str]:
    """Yield a string for each column. Joining characters are part of the previous string; a wide character is followed
    by an empty string."""
    held, width, before = "", 0, ""
    for char in text:
        added = _added_columns(char, before)
        before = char
        if not added:
            held += char
            continue
        if held:
            yield held
            if width == _WIDE:
                yield ""
        held, width = char, added
    if held:
        yield held
        if width == _WIDE:
            yield ""


def columns(text: str) -> int:
    """Return how many columns of a terminal the text takes. A tab and a control character count as one."""
    if is_simple(text):
        return len(text)
    total, before = 0, ""
    for char in text:
        total += _added_columns(char, before)
        before = char
    return total


def prefix_length(text: str, room: int) -> int:
    """Return how many characters at the beginning fit into `room` columns, without splitting an emoji or a flag."""
    if is_simple(text):
        return min(max(room, 0), len(text))
    before = ""
    for place, char in enumerate(text):
        room -= _added_columns(char, before)
        if room < 0:
            return last_cut_before(text, place)
        before = char
    return len(text)


def max_columns(char: str) -> int:
    """Return the maximum number of columns that any terminal gives a character: none join, and ambiguous ones are wide.

    For lines that must not wrap on any terminal; `columns` is what most terminals do.
    """
    return 1 if char < "\u0300" or unicodedata.east_asian_width(char) in ("N", "Na", "H") else 2


def _added_columns(char: str, before: str) -> int:
    """Return the columns that `char` takes after `before`, which is empty at the beginning of a text."""
    if char < "\u0300":
        return 1
    if before == _ZWJ:
        return 0
    kind = _kind(char)
    if kind == _JOINS:
        return 0 if before else 1
    if kind == _SKIN_TONE:  # after anything but an emoji, another skin tone included, terminals show it
        return 0 if before and _kind(before) == _WIDE else _WIDE
    return kind


@lru_cache(maxsize=4096)  # a text has few distinct characters, and a lookup takes a microsecond
def _kind(char: str) -> int:
    if "\U0001f3fb" <= char <= "\U0001f3ff":
        return _SKIN_TONE
    if joins_previous(char) and unicodedata.category(char) != "Mc":  # a spacing mark takes a column
        return _JOINS
    return _WIDE if unicodedata.east_asian_width(char) in "WF" and not _is_flag_half(char) else _NARROW
