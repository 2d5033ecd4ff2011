"""Compare the words of a pattern with the words of a command."""

from __future__ import annotations

from nacre.base.lazy_regex import later
from nacre.policy.permissions.globs import fits
from nacre.policy.permissions.patterns import SEPARATOR, STAR, Pattern
from nacre.shell import Command

_HOME = later(r"^(?:~|\$HOME|\$\{HOME\})(?=/|$)")


def says(pattern: Pattern, words: tuple[str, ...], home: str) -> bool:
    """Whether these words are what it names. `~` and `$HOME` in a rule are what they are in a command."""
    text = SEPARATOR.join(words)
    named = SEPARATOR.join([_HOME.sub(lambda _: home, word) for word in pattern.words])
    return fits(named.split(STAR), text) or (pattern.more and fits([*(named + SEPARATOR).split(STAR), ""], text))


def written(command: Command) -> tuple[str, ...]:
    """Its redirections that write, as words."""
    return tuple(
        word for each in command.redirects if each.writes for word in (f"{each.descriptor}{each.operator}", each.target)
    )
