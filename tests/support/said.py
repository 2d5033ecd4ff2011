"""Values to compare with."""

from __future__ import annotations

from nacre.result import Captured


def said(text: str | bytes = b"") -> Captured:
    """A stream that said this and no more."""
    data = text.encode() if isinstance(text, str) else text
    return Captured(head=data, seen=len(data))
