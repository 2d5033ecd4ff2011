"""How much of a script is followed: all work is counted, so that any text gets a verdict."""

from __future__ import annotations

from collections.abc import Iterable

from nacre.shell.command import Script
from nacre.shell.symbolic import MAX_CHARS as LONGEST_TEXT
from nacre.shell.symbolic import cap_length
from nacre.shell.values.values import MAX_FOLLOWED_ALWAYS, may_be_dangerous

MAX_COMMANDS = 20_000
"""Commands."""
MAX_WORK = 20_000_000
"""Characters of the words that expansion makes. All other work is counted in them, too."""
FOLLOW_ALL_BELOW = 2000
"""Commands up to which everything is followed with all the values it may have."""
TOO_LONG_REASON = f"a text of more than {LONGEST_TEXT} characters is put together in it"


class Budget:
    def __init__(self, script: Script) -> None:
        self.script = script
        self._spent = 0
        self._dropped_text = False
        """Whether texts were too long to be kept."""

    def charge(self, characters: int) -> bool:
        """So much more text is made; whether there is room for it."""
        self._spent += characters
        if self._spent > MAX_WORK:
            self.give_up("what it does grows beyond what can be followed")
        return not self.script.gave_up

    def give_up(self, why: str) -> None:
        self.script.gave_up = self.script.gave_up or why

    def keep_if_short(self, text: str) -> str:
        """A text for later, unless it is too long."""
        if len(text) <= LONGEST_TEXT:
            return text
        self._dropped_text = True
        return cap_length(text)

    def should_follow(self, number: int, texts: Iterable[str]) -> bool:
        """Whether this one of many alike is followed: every one as long as there is little, later what may matter."""
        if self.script.gave_up:
            return False
        return (
            number < MAX_FOLLOWED_ALWAYS
            or len(self.script.commands) < FOLLOW_ALL_BELOW
            or any(map(may_be_dangerous, texts))
        )

    def note_unknown(self, what: str) -> None:
        self.script.unknown[what] = None
