"""What nacre says in a text that a model reads: a line of its own that begins with `[nacre: `. Output that looks like
that is shown marked (`output.imitations`)."""

from __future__ import annotations


def nacre_note(text: str) -> str:
    return f"[nacre: {text}]"
