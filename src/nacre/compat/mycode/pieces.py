"""A text in pieces, with secrets masked."""

from __future__ import annotations

from nacre.hidden import Hidden

_FEW = 3
"""Characters of a secret that give nothing away."""


class Pieces:
    """What may be the beginning of a secret waits for the next piece."""

    def __init__(self, hidden: Hidden) -> None:
        self._hidden = hidden
        self._held = ""
        self._in_line = False

    def shown(self, text: str) -> str:
        text = self._held + text
        begun = max((_overlap(text, value) for value in self._hidden.values()), default=0)
        text, self._held = text[: len(text) - begun], text[len(text) - begun :]
        self._in_line = not text.endswith("\n")
        return self._hidden.mask(text)

    def add_line(self, line: str) -> None:
        """After all else."""
        self._held += "\n" * (self._in_line or self._held != "") + line

    def last(self) -> str:
        return self._hidden.mask(self._held)


def _overlap(text: str, value: str) -> int:
    """Characters at the end of the text that begin the value; a few say nothing."""
    lengths = range(min(len(value) - 1, len(text)), _FEW, -1)
    return next((count for count in lengths if text.endswith(value[:count])), 0)
