"""How much of a script is followed: all work is counted, so that any text gets a verdict."""

from __future__ import annotations

from collections.abc import Iterable

from nacre.shell.command import Script
from nacre.shell.symbolic import LONGEST as LONGEST_TEXT
from nacre.shell.symbolic import bounded
from nacre.shell.values.values import MOST, matters

LONGEST = 20_000
"""Commands."""
WIDEST = 20_000_000
"""Characters of the words that expansion makes. All other work is counted in them, too."""
PATIENCE = 2000
"""Commands up to which everything is followed with all the values it may have."""
OVERLONG = f"a text of more than {LONGEST_TEXT} characters is put together in it"


class Budget:
    def __init__(self, script: Script) -> None:
        self.script = script
        self._spent = 0
        self._loses = False
        """Whether texts were too long to be kept."""

    def spend(self, characters: int) -> bool:
        """So much more text is made; whether there is room for it."""
        self._spent += characters
        if self._spent > WIDEST:
            self.close("what it does grows beyond what can be followed")
        return not self.script.closed

    def close(self, why: str) -> None:
        self.script.closed = self.script.closed or why

    def kept(self, text: str) -> str:
        """A text for later, unless it is too long."""
        if len(text) <= LONGEST_TEXT:
            return text
        self._loses = True
        return bounded(text)

    def worth(self, number: int, texts: Iterable[str]) -> bool:
        """Whether this one of many alike is followed: every one as long as there is little, later what may matter."""
        if self.script.closed:
            return False
        return number < MOST or len(self.script.commands) < PATIENCE or any(map(matters, texts))

    def wonder(self, what: str) -> None:
        self.script.unknown[what] = None
