"""Preview of a value, for a message."""

from __future__ import annotations

_MAX_PREVIEW_CHARS = 60
"""Characters of a value that a message repeats."""


def preview(value: object) -> str:
    """A value in a message: as JSON has it, and not long."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        text = "something of many levels"
    except (TypeError, ValueError):
        text = repr(value) if not isinstance(value, int) else "a number of thousands of digits"
    return text if len(text) <= _MAX_PREVIEW_CHARS else text[: _MAX_PREVIEW_CHARS - 1] + "…"
