"""Regular expressions that are compiled on first use.

Most are never used, and compiling all of them took a fifth of the time to load the checker.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from re import Pattern

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _LazyPattern:
    """Stand-in for a pattern. On first use it compiles the pattern and takes over its methods."""

    def __init__(self, text: str, flags: int) -> None:
        self._made = text, flags

    def __getattr__(self, name: str) -> Any:
        pattern = re.compile(*self._made)
        for method in _METHODS:
            setattr(self, method, getattr(pattern, method))
        return getattr(pattern, name)


def lazy_regex(text: str, flags: int = 0) -> Pattern[str]:
    """Return a pattern like `re.compile`, compiled on first use."""
    return cast("Pattern[str]", _LazyPattern(text, flags))
