"""The capabilities of a terminal."""

from __future__ import annotations

from nacre.base.frozen import frozen


@frozen
class TerminalCapabilities:
    """Size, colour and encoding of a terminal."""

    width: int = 80
    colour: bool = False
    utf8: bool = True
    height: int = 0
    """Lines; 0: unknown, or unlimited."""

    @property
    def rule(self) -> str:
        """Character that horizontal rules are made of."""
        return "─" if self.utf8 else "-"
