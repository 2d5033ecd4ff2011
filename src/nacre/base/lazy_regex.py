"""Regular expressions that are compiled when they are first used. Most never are, and compiling all of them was a fifth
of what it takes to load the checker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from re import Pattern

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _LazyPattern:
    """From its first use on, its methods are the pattern's own."""

    def __init__(self, text: str, flags: int) -> None:
        self._made = text, flags

    def __getattr__(self, name: str) -> Any:
        pattern = re.compile(*self._made)
        for method in _METHODS:
            setattr(self, method, getattr(pattern, method))
        return getattr(pattern, name)


def lazy_regex(text: str, flags: int = 0) -> Pattern[str]:
    """What `re.compile` gives, as far as one uses it."""
    return cast("Pattern[str]", _LazyPattern(text, flags))
