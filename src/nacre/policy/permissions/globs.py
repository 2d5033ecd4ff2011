"""Match text with a pattern that has stars: each piece at its first place, so that no pattern takes long. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def matches_pieces(pieces: Sequence[str], text: str) -> bool:
    """Return whether a text matches. `pieces`: the text between the stars; a single piece must equal the text."""
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
