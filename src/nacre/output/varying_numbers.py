"""Classify the numbers in lines that are alike in everything else. Pure.

A number is one of three kinds:

- running: a time at the beginning of the line; or, in a line with a share of the whole (`45%`, `3/7`), a number that
  changes in one direction only or is a size, a rate or a remaining time;
- counting: it changes from line to line by a constant step or, in lines with a time, always up or always down;
- informative: everything else. A status, an exit code, a size in a table, a checksum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import ge, gt, le, lt, sub

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex

NUMBER = lazy_regex(r"[0-9a-f]*\d[0-9a-f.,]*(?: ?(?:[kKMGT]i?[bB]\b|B\b))?")
"""A number, with the letters of a checksum or the unit of a size."""
BAR = lazy_regex(r"[=#>.━╸╺█▉▊▋▌▍▎▏░▒▓⣿*-]{4,}[=#>.━╸╺█▉▊▋▌▍▎▏░▒▓⣿* -]*")
_STAMP = lazy_regex(
    r"\W{0,2}(?:\d{4}-\d\d-\d\d[T ]\d\d?:\d\d|\d\d?:\d\d:\d\d|[A-Z][a-z]{2} +\d\d? \d\d:\d\d:\d\d)[\d:.,]*"
)
"""The time at the beginning of a line."""
_COUNT = lazy_regex(r"([a-f]*)(\d[\d,]*(?:\.\d+)?)[.,]?(?: ?[kKMGT]?i?[bB])?")
_UNIT = lazy_regex(r"(?<=[Bb])|/s|it/s| ?(?:[kKMGT]i?B|[kKMGT]|B)(?:/s)?\b| ?(?:m?s|min|h|sec(?:ond)?s?)\b")
"""Follows a number that is a size, a rate or a time."""
_SHARE = lazy_regex(r" ?%|(?<=[ \[(]0)/0(?![\w/.])")
"""Follows a number that is a share of the whole, in a line whose numbers are all replaced by 0."""
_TABLE = lazy_regex(r"\S(?:\t| {2,})\S.*?\S(?:\t| {2,})\S")
"""At least three columns."""


@frozen
class NumberRoles:
    """The result of `classify`."""

    words: list[tuple[str, ...]]
    """For each line, its informative numbers."""
    running: bool
    """True if the lines have a time, or a share of the whole that grows."""


def classify(lines: Sequence[str]) -> NumberRoles:
    """Classify the numbers of lines that are alike in everything else. The lines are in order."""
    rows = list(map(NUMBER.findall, lines))
    first = lines[0]
    if len(set(map(len, rows))) != 1:
        return NumberRoles([(line,) for line in lines], running=False)
    stamp = _STAMP.match(first)
    stamped = len(NUMBER.findall(first, 0, stamp.end())) if stamp else 0
    columns = [_Column(words) for words in list(zip(*rows, strict=True))[stamped:]]
    ends = [match.end() for match in NUMBER.finditer(first)][stamped:]
    zeros, zero_ends = _zeros(first, stamped)
    shares = any(
        column.is_monotonic(ge) and _SHARE.match(zeros, end) for column, end in zip(columns, zero_ends, strict=True)
    )
    if not stamp and not shares and _TABLE.search(first):
        return NumberRoles([(line,) for line in lines], running=False)
    saying = [
        column.words
        for column, end in zip(columns, ends, strict=True)
        if not column.counts(timed=stamp is not None, shares=shares, measure=_UNIT.match(first, end) is not None)
    ]
    if not shares and BAR.search(first):  # without a share, the bar shows something else
        saying.append(tuple("".join(BAR.findall(line)) for line in lines))
    return NumberRoles(list(zip(*saying, strict=True)) if saying else [()] * len(lines), stamp is not None or shares)


def _zeros(line: str, stamped: int) -> tuple[str, list[int]]:
    """Return the line after a space, with 0 for each number, and the offsets at which the zeros end, without the first
    `stamped`."""
    parts = NUMBER.split(line)
    ends = [place + number for number, place in enumerate(accumulate(map(len, parts[:-1])), 2)]
    return " " + "0".join(parts), ends[stamped:]


class _Column:
    """The numbers in one position of all lines."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        self._values = [] if len(set(words)) == 1 else _values(words)

    def is_monotonic(self, way: Callable[[float, float], bool]) -> bool:
        """Return true if `way(next, previous)` holds for all pairs of neighbours."""
        return bool(self._values) and all(map(way, self._values[1:], self._values))

    def counts(self, *, timed: bool, shares: bool, measure: bool) -> bool:
        """Return true if the number runs or counts: a reader need not see it in every line."""
        if not self._values:
            return len(set(self.words)) == 1
        if shares and (measure or self.is_monotonic(ge) or self.is_monotonic(le)):
            return True
        if timed and (self.is_monotonic(gt) or self.is_monotonic(lt)):
            return True
        steps = set(map(sub, self._values[1:], self._values))
        return len(steps) == 1 or len({round(step, 6) for step in steps}) == 1


def _values(words: tuple[str, ...]) -> list[float]:
    """Return the numeric values; nothing if one is not a number or if the letters before it change."""
    if all(map(str.isdecimal, words)):
        return list(map(int, words))
    found = [match for word in words if (match := _COUNT.fullmatch(word))]
    if len(found) < len(words) or len({match[1] for match in found}) != 1:
        return []
    return [float(match[2].replace(",", "")) for match in found]
