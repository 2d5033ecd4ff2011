"""Many short words, searched for in a long text at once. Pure.

A regular expression that begins with one letter jumps from one such letter to the next; an alternation that begins with
many looks at every character, and a search for each word by itself reads the text as often as there are words. So the
words are sorted by one of a few letters that they have (`ANCHORS`), with an expression for each of those letters. A
word that has none of them is searched by itself, which is fast if it is long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex

Find: TypeAlias = Callable[[str, int, int], int]
"""A text, from, to → a place within the first of the words there; less than 0: there is none."""

ANCHORS = "[(AEKFCPfpk"
"""Few, and none that is common: each that is in the text costs a reading of it."""


@frozen
class Finder:
    words: tuple[str, ...]
    find: Find


def word_finders(words: Iterable[str]) -> tuple[Finder, ...]:
    """Between them they find all of the words."""
    grouped: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        grouped.setdefault(next((letter for letter in ANCHORS if letter in word), word), []).append(word)
    return tuple(Finder(tuple(group), _make_find(key, group)) for key, group in grouped.items())


def _make_find(key: str, words: list[str]) -> Find:
    if len(key) > 1 or words == [key]:
        return lambda text, start, end: text.find(key, start, end)
    ways = []
    for word in words:
        before, _, after = word.partition(key)
        # what comes after is looked at first: one letter of it is nearly always enough
        ways.append(re.escape(after) + (f"(?<={re.escape(word)})" if before else ""))
    pattern = lazy_regex(f"{re.escape(key)}(?:{'|'.join(ways)})")

    def find(text: str, start: int, end: int) -> int:
        start = text.find(key, start, end)  # much faster to the first of them, or where there is none
        found = pattern.search(text, start, end) if start >= 0 else None
        return -1 if found is None else found.start()

    return find
