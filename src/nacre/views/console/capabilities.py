"""What a terminal can show."""

from __future__ import annotations

from nacre.base.frozen import frozen


@frozen
class TerminalCapabilities:
    width: int = 80
    colour: bool = False
    utf8: bool = True
    height: int = 0
    """Lines; 0: nobody knows, or it does not end."""

    @property
    def rule(self) -> str:
        return "─" if self.utf8 else "-"
