"""Search a long text for many short words at once. Pure.

A regular expression that begins with one letter jumps from one such letter to the next. An alternation that begins with
many letters examines every character, and a separate search per word reads the text once per word. So the words are
grouped by one of a few letters that they contain (`ANCHORS`), with one expression per letter. A word without any of
them is searched separately, which is fast if it is long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex

Find: TypeAlias = Callable[[str, int, int], int]
"""(text, start, end) → an offset within the first match; negative if there is none."""

ANCHORS = "[(AEKFCPfpk"
"""Few letters, none of them common: each occurrence in the text costs an attempt to match."""


@frozen
class Finder:
    """A function that finds the first of some words."""

    words: tuple[str, ...]
    find: Find


def word_finders(words: Iterable[str]) -> tuple[Finder, ...]:
    """Return finders that together find all of the words."""
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
        # Match what follows the letter first: one character of it nearly always decides.
        ways.append(re.escape(after) + (f"(?<={re.escape(word)})" if before else ""))
    pattern = lazy_regex(f"{re.escape(key)}(?:{'|'.join(ways)})")

    def find(text: str, start: int, end: int) -> int:
        start = text.find(key, start, end)  # much faster up to the first one, or if there is none
        found = pattern.search(text, start, end) if start >= 0 else None
        return -1 if found is None else found.start()

    return find
