"""Limit how much of a script is followed: all work is counted, so that any script gets a verdict."""

from __future__ import annotations

from collections.abc import Iterable

from nacre.shell.command import Script
from nacre.shell.symbolic import MAX_CHARS as LONGEST_TEXT
from nacre.shell.symbolic import cap_length
from nacre.shell.values.values import MAX_FOLLOWED_ALWAYS, may_be_dangerous

MAX_COMMANDS = 20_000
"""Commands that are recorded."""
MAX_WORK = 20_000_000
"""Characters of the words that expansion makes. All other work is counted in characters, too."""
FOLLOW_ALL_BELOW = 2000
"""Commands up to which everything is followed with all the values it may have."""
TOO_LONG_REASON = f"a text of more than {LONGEST_TEXT} characters is put together in it"


class Budget:
    """Counts the work of an analysis, and ends it when a limit is exceeded."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.spent = 0
        self.dropped_text = False
        """Whether a text was dropped because it was too long."""

    def charge(self, characters: int) -> bool:
        """Charge work, in characters of text; return whether the analysis may go on."""
        self.spent += characters
        if self.spent > MAX_WORK:
            self.give_up("what it does grows beyond what can be followed")
        return not self.script.gave_up

    def give_up(self, why: str) -> None:
        """End the analysis. The first reason is kept."""
        self.script.gave_up = self.script.gave_up or why

    def keep_if_short(self, text: str) -> str:
        """Return a text to keep; if it is too long, only its origin."""
        if len(text) <= LONGEST_TEXT:
            return text
        self.dropped_text = True
        return cap_length(text)

    def should_follow(self, number: int, texts: Iterable[str]) -> bool:
        """Tell whether to follow one of many alike: all in a small script, in a larger one what may be dangerous."""
        if self.script.gave_up:
            return False
        return (
            number < MAX_FOLLOWED_ALWAYS
            or len(self.script.commands) < FOLLOW_ALL_BELOW
            or any(map(may_be_dangerous, texts))
        )

    def note_unknown(self, what: str) -> None:
        """Note the name of something that is known only at run time."""
        self.script.unknown[what] = None
