"""How characters stand beside each other: which belong together, and how many columns they take. Pure.

Rough, and cheap: no table of our own, only what `unicodedata` knows. Enough to find where a text may be cut and where a
terminal would put the next character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from nacre.base.lazy_regex import lazy_regex

_SIMPLE = lazy_regex(r"[\t\x20-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u2319\u2400-\u25fc\u2800-\u28ff]*")
"""Latin, Greek, Cyrillic, arrows, boxes, bars and spinners: one column each, nothing joins."""
_ZWJ = "\u200d"
_JOINS, _NARROW, _WIDE, _SKIN_TONE = 0, 1, 2, 3
_MAX_LOOKBACK_CHARS = 64
"""Characters after which a cut is made in any case: some texts pile up marks without end."""


def is_simple(text: str) -> bool:
    """Every character is one column and stands for itself. May say no too often, never yes."""
    return text.isascii() or _SIMPLE.fullmatch(text) is not None


def joins_previous(char: str) -> bool:
    """It belongs to the character before it."""
    if char < "\u0300":
        return False
    return (
        char == _ZWJ
        or unicodedata.category(char) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin
        or "\U000e0020" <= char <= "\U000e007f"  # tags, in flags
        or "\u1160" <= char <= "\u11ff"  # the vowels and finals of a Hangul syllable
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def splits_character(text: str, place: int) -> bool:
    """A cut at `place` would go through what a reader takes for one character."""
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
    """The last place from `place` backwards where the text may be cut."""
    place = max(least, min(place, len(text)))
    back = place
    while back > least and place - back < _MAX_LOOKBACK_CHARS and splits_character(text, back):
        back -= 1
    return place if splits_character(text, back) and back > least else back


def first_cut_after(text: str, place: int, most: int | None = None) -> int:
    """The first place from `place` onwards where the text may be cut."""
    most = len(text) if most is None else most
    place = min(most, max(place, 0))
    on = place
    while on < most and on - place < _MAX_LOOKBACK_CHARS and splits_character(text, on):
        on += 1
    return place if splits_character(text, on) and on < most else on


def cells(text: str) -> Iterator[str]:
    """A string for each column: what joins the one before is with it, and a wide one leaves an empty string behind."""
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
    """How many columns of a terminal the text takes. A tab and a control character count as one."""
    if is_simple(text):
        return len(text)
    total, before = 0, ""
    for char in text:
        total += _added_columns(char, before)
        before = char
    return total


def prefix_length(text: str, room: int) -> int:
    """How many characters at the beginning fit into `room` columns. A cut there goes through no emoji or flag."""
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
    """The most columns that any terminal gives a character: none of them join, and ambiguous ones are wide. For lines
    that must not wrap anywhere; `columns` is what most terminals do."""
    return 1 if char < "\u0300" or unicodedata.east_asian_width(char) in ("N", "Na", "H") else 2


def _added_columns(char: str, before: str) -> int:
    """Columns that `char` takes after the character `before` it, which is empty at the beginning of a text."""
    if char < "\u0300":
        return 1
    if before == _ZWJ:
        return 0
    kind = _kind(char)
    if kind == _JOINS:
        return 0 if before else 1
    if kind == _SKIN_TONE:  # after anything but an emoji, another tone included, terminals show it
        return 0 if before and _kind(before) == _WIDE else _WIDE
    return kind


@lru_cache(maxsize=4096)  # a text has few different ones, and asking for one takes a microsecond
def _kind(char: str) -> int:
    if "\U0001f3fb" <= char <= "\U0001f3ff":
        return _SKIN_TONE
    if joins_previous(char) and unicodedata.category(char) != "Mc":  # a spacing mark has a column of its own
        return _JOINS
    return _WIDE if unicodedata.east_asian_width(char) in "WF" and not _is_flag_half(char) else _NARROW
