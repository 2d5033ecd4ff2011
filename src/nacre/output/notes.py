"""Notes of nacre in a text that a model reads: separate lines that begin with `[nacre: `. Output that looks like one is
escaped (`output.spoofed_notes`)."""

from __future__ import annotations


def nacre_note(text: str) -> str:
    """Return `text` as a note of nacre."""
    return f"[nacre: {text}]"
