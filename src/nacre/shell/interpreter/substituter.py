"""The part of the interpreter that word expansion calls back."""

from __future__ import annotations

from typing import Protocol

from nacre.shell.interpreter.state import State
from nacre.shell.syntax.nodes import Substitution


class Substituter(Protocol):
    """Follows the commands inside words."""

    def substitute(self, part: Substitution, state: State) -> list[str]:
        """Follow the commands of a substitution; return the texts that it may expand to."""

    def expand_again(self, text: str, state: State) -> str:
        """Return a text after bash expands it once more (`${x@P}`, a subscript in arithmetic)."""

    def give_up(self, why: str) -> None:
        """End the analysis, with a reason."""

    def keep_if_short(self, text: str) -> str:
        """Return a text to keep; if it is too long, only its origin."""

    def charge(self, characters: int) -> bool:
        """Charge work, in characters of text; return whether the analysis may go on."""

    def note_unknown(self, what: str) -> None:
        """Note the name of something that is known only at run time."""
