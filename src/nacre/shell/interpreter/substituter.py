"""The part of the interpreter that word expansion calls back."""

from __future__ import annotations

from typing import Protocol

from nacre.shell.interpreter.state import State
from nacre.shell.syntax.nodes import Substitution


class Substituter(Protocol):
    """Whoever follows the commands inside words."""

    def substitute(self, part: Substitution, state: State) -> list[str]:
        """Its commands would run: what would they print, which of these?"""

    def expand_again(self, text: str, state: State) -> str:
        """bash expands this text once more (`${x@P}`, a subscript in arithmetic): what does it become?"""

    def give_up(self, why: str) -> None:
        """It cannot be followed to its end."""

    def keep_if_short(self, text: str) -> str:
        """A text for later, unless it is too long."""

    def charge(self, characters: int) -> bool:
        """So much more text is made; whether there is room for it."""

    def note_unknown(self, what: str) -> None:
        """Here is something that only running it would tell."""
