"""Mask secrets in a text that arrives in pieces."""

from __future__ import annotations

from nacre.redact.mask import partial_match_length
from nacre.redact.redactor import Redactor


class MaskedStream:
    """Masks a stream. A possible beginning of a secret is held back until the next piece arrives."""

    def __init__(self, redactor: Redactor) -> None:
        self._hidden = redactor
        self._held = ""
        self._in_line = False

    def mask_next(self, text: str) -> str:
        """Return the masked text up to the part that is held back."""
        text = self._held + text
        place = len(text) - partial_match_length(text, self._hidden.values())
        text, self._held = text[:place], text[place:]
        self._in_line = not text.endswith("\n") if text else self._in_line
        return self._hidden.mask(text)

    def add_line(self, line: str) -> None:
        """Append a line after all other text."""
        self._held += "\n" * (self._in_line or self._held != "") + line

    def last(self) -> str:
        """Return the masked text that was held back."""
        return self._hidden.mask(self._held)
