"""Brace expansion: bash makes three words of `{rm,-rf,/}` before any other expansion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.nodes import Literal, Part

MAX_WORDS = 4096
"""Words that one word may expand to."""
_MAX_RANGE_NUMBERS = 256
"""Numbers of `{1..9}`. Of a longer range only both ends and the numbers around 0 are kept: between them, only digits
change."""
_KEPT_RANGE_ENDS = 64
_MAX_PIECES = 1_000_000
"""Pieces of text that may be joined for one word."""

_RANGE = lazy_regex(
    r"(-?\d{1,18})\.\.(-?\d{1,18})(?:\.\.(-?\d{1,18}))?|([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,18}))?", re.ASCII
)
_PADDED = lazy_regex(r"-?0\d")
"""Matches a number whose zeros are kept: `{01..10}`."""
_MARKS = lazy_regex(r"(?<!\$)(\{)|([,}])")
_ONE_OF = lazy_regex(r"@\(([^()|]*+(?:\|[^()|]*+)+)\)")

_Piece = str | Part
_Text = list[_Piece]


class TooManyWords(Exception):
    """A word expands to more words than are followed."""


class _Open:
    """A brace that is not closed yet, or the word as a whole."""

    __slots__ = ("alike", "done")

    def __init__(self) -> None:
        self.done: list[list[_Text]] = []
        """For each comma so far, the texts that the alternative before it stands for."""
        self.alike: list[_Text] = [[]]
        """The texts that the alternative after the last comma stands for."""

    def add(self, texts: list[_Text]) -> int:
        """Append each of these texts to each text of the current alternative. Return the number of pieces copied."""
        if len(texts) == 1:
            for before in self.alike:
                before += texts[0]
            return len(self.alike) * len(texts[0])
        if len(self.alike) * len(texts) > MAX_WORDS:
            raise TooManyWords
        self.alike = [before + text for before in self.alike for text in texts]
        return sum(map(len, self.alike))

    def as_literal(self) -> list[_Text]:
        """Return the texts it stands for if it is not a brace expansion after all: its commas are literal."""
        parts = [*self.done, self.alike]
        count = 1
        for part in parts:
            count *= len(part)
            if count > MAX_WORDS:
                raise TooManyWords
        return [_with_commas(chosen) for chosen in product(*parts)]


def expand_braces(parts: Sequence[Part]) -> list[list[Part]]:
    """Return the words that a word expands to; `@(a|b)` counts as `{a,b}`. Raises TooManyWords."""
    for part in parts:
        if isinstance(part, Literal) and not part.quoted and ("{" in part.text or "@(" in part.text):
            break
    else:
        return [list(parts)]
    opened, steps = [_Open()], 0
    for piece in _pieces(parts):
        if piece == "{":
            opened.append(_Open())
        elif piece == "," and len(opened) > 1:
            last = opened[-1]
            last.done.append(last.alike)
            last.alike = [[]]
        elif piece == "}" and len(opened) > 1:
            steps += opened[-2].add(_expand_brace(opened.pop()))
        else:
            steps += opened[-1].add([[piece]])
        if steps > _MAX_PIECES:
            raise TooManyWords
    while len(opened) > 1:
        inner = opened.pop()
        steps += opened[-1].add([["{", *text] for text in inner.as_literal()])
        if steps > _MAX_PIECES:
            raise TooManyWords
    return [_join_pieces(text) for text in opened[0].alike]


def _pieces(parts: Sequence[Part]) -> Iterable[_Piece]:
    """Yield braces, commas, and the text and parts between them."""
    for part in parts:
        if isinstance(part, Literal) and not part.quoted:
            text = _ONE_OF.sub(lambda found: "{" + found[1].replace("|", ",") + "}", part.text)
            yield from filter(None, _MARKS.split(text))
        else:
            yield part


def _expand_brace(brace: _Open) -> list[_Text]:
    """Return the texts that a closed brace stands for."""
    if brace.done:
        texts = [text for part in (*brace.done, brace.alike) for text in part]
        if len(texts) > MAX_WORDS:
            raise TooManyWords
        return texts
    if len(brace.alike) == 1 and (numbers := _sequence(brace.alike[0])):
        return [[number] for number in numbers]
    return [["{", *text, "}"] for text in brace.alike]


def _with_commas(chosen: tuple[_Text, ...]) -> _Text:
    pieces = list(chosen[0])
    for text in chosen[1:]:
        pieces += (",", *text)
    return pieces


def _sequence(text: _Text) -> list[str]:
    first_piece = text[0] if len(text) == 1 else None
    found = _RANGE.fullmatch(first_piece) if isinstance(first_piece, str) else None
    if found is None:
        return []
    if found[1]:
        first, last, step = int(found[1]), int(found[2]), abs(int(found[3] or 1)) or 1
        numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        width = max(map(len, (found[1], found[2]))) if _PADDED.match(found[1]) or _PADDED.match(found[2]) else 0
        if len(numbers) <= _MAX_RANGE_NUMBERS:
            return [f"{number:0{width}}" for number in numbers]
        between = [number for number in (-1, 0, 1) if number in numbers]
        return [
            f"{number:0{width}}" for number in (*numbers[:_KEPT_RANGE_ENDS], *between, *numbers[-_KEPT_RANGE_ENDS:])
        ]
    first, last, step = ord(found[4]), ord(found[5]), abs(int(found[6] or 1)) or 1
    letters = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [chr(letter) for letter in letters]


def _join_pieces(pieces: _Text) -> list[Part]:
    parts: list[Part] = []
    letters: list[str] = []
    for piece in (*pieces, None):
        if isinstance(piece, str):
            letters.append(piece)
            continue
        if letters:
            parts.append(Literal("".join(letters), quoted=False))
            letters.clear()
        if piece is not None:
            parts.append(piece)
    return parts
