"""Does a text fit a pattern with stars? Each piece where it is first found: no pattern takes long. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def matches_pieces(pieces: Sequence[str], text: str) -> bool:
    """`pieces`: what stands between the stars; one alone is the whole text."""
    first, *others = pieces
    if not others:
        return text == first
    if not text.startswith(first):
        return False
    position, last = len(first), others.pop()
    for piece in others:
        found = text.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return text.endswith(last) and len(text) - len(last) >= position
