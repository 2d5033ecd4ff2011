"""Preview of a value, for a message."""

from __future__ import annotations

MAX_PREVIEW_CHARS = 60
"""Longest excerpt of a value in a message."""


def preview(value: object) -> str:
    """Return a value as JSON for use in a message, cut to a bounded length."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        text = "something of many levels"
    except (TypeError, ValueError):
        text = repr(value) if not isinstance(value, int) else "a number of thousands of digits"
    return text if len(text) <= MAX_PREVIEW_CHARS else text[: MAX_PREVIEW_CHARS - 1] + "…"
