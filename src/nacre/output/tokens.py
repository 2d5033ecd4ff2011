"""Estimate how many tokens a text costs. Pure, and an estimate: every model counts differently.

tokens ≈ (ASCII characters + 2 × characters up to U+07FF + 4 × up to U+FFFF + 8 × beyond) / 4, rounded up: four ASCII
characters per token; two of accented Latin, Greek, Cyrillic, Hebrew or Arabic; one of CJK, box drawing or bars; and two
tokens per emoji.
"""

from __future__ import annotations

_TWO, _THREE, _FOUR = (
    bytes(byte for byte in range(256) if not low <= byte <= high)
    for low, high in ((0xC0, 0xDF), (0xE0, 0xEF), (0xF0, 0xFF))
)


def count_tokens(text: str) -> int:
    """Return the estimated number of tokens, rounded up."""
    return -(-quarter_tokens(text) // 4)


def quarter_tokens(text: str) -> int:
    """Return the estimate in quarters of a token, not rounded: parts of a text add up."""
    if text.isascii():
        return len(text)
    data = text.encode("utf-8", "replace")
    two, three, four = (len(data.translate(None, others)) for others in (_TWO, _THREE, _FOUR))
    return len(text) + two + 3 * three + 7 * four


def longest_within(text: str, room: int, *, back: bool = False) -> int:
    """Return how many characters at the start of the text, or at its end, cost at most `room` quarters of a token."""
    low, high = 0, min(len(text), room)
    if quarter_tokens(text[len(text) - high :] if back else text[:high]) <= room:
        return max(0, high)
    while low < high:
        middle = (low + high + 1) // 2
        if quarter_tokens(text[len(text) - middle :] if back else text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return low
