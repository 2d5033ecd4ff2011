"""Sizes and times as people write them in, numbers out. Pure."""

from __future__ import annotations

from nacre.base.lazy_regex import later

_SIZE = later(r"(\d{1,15}(?:\.\d{1,9})?) ?([kmgtKMGT]?)(?:[iI]?[bB])?")
_SPAN = later(r"(\d{1,15}(?:\.\d{1,9})?) ?(ms|s|m|min|h|d|)")
_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def size(word: str) -> int | None:
    """`512M`, `4GiB`, `1000`."""
    found = _SIZE.fullmatch(word)
    return None if found is None else int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " "))


def span(word: str) -> float | None:
    """`90`, `1.5`, `300ms`, `5m`, `7d`, in seconds."""
    found = _SPAN.fullmatch(word)
    return None if found is None else float(found[1]) * _UNITS[found[2]]
