"""Suggest known names that resemble a misspelt one. Pure."""

from __future__ import annotations

from collections.abc import Iterable

_MIN_SIMILARITY = 0.6
"""Similarity (0 to 1) below which a name is not suggested."""


def did_you_mean(word: object, known: Iterable[str], otherwise: str = "", *, cutoff: float = _MIN_SIMILARITY) -> str:
    """Return `Did you mean 'name'?` for the known name most similar to `word`; `otherwise` if none is similar."""
    near = find_similar(word, known, cutoff=cutoff)
    return f"Did you mean {near[0]!r}?" if near else otherwise


def find_nearest(word: object, known: Iterable[str], *, cutoff: float = _MIN_SIMILARITY) -> str | None:
    """Return the known name most similar to `word`; None if none is similar."""
    near = find_similar(word, known, cutoff=cutoff)
    return near[0] if near else None


def find_similar(
    word: object, known: Iterable[str], *, max_names: int = 1, cutoff: float = _MIN_SIMILARITY
) -> list[str]:
    """Return up to `max_names` known names that are similar to `word`, the most similar first."""
    from difflib import get_close_matches  # takes milliseconds to import, and only errors need it

    return get_close_matches(str(word), list(known), max_names, cutoff)
