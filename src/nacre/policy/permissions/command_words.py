"""Compare the words of a pattern with the words of a command."""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.permissions.globs import matches_pieces
from nacre.policy.permissions.patterns import SEPARATOR, STAR, PermissionPattern
from nacre.shell import Command

_HOME = lazy_regex(r"^(?:~|\$HOME|\$\{HOME\})(?=/|$)")


def matches(pattern: PermissionPattern, words: tuple[str, ...], home: str) -> bool:
    """Return whether these words match a pattern. `~` and `$HOME` in a rule mean the same as in a command."""
    text = SEPARATOR.join(words)
    named = SEPARATOR.join([_HOME.sub(lambda _: home, word) for word in pattern.words])
    return matches_pieces(named.split(STAR), text) or (
        pattern.more and matches_pieces([*(named + SEPARATOR).split(STAR), ""], text)
    )


def redirection_words(command: Command) -> tuple[str, ...]:
    """Return a command's output redirections as words."""
    return tuple(
        word for each in command.redirects if each.writes for word in (f"{each.descriptor}{each.operator}", each.target)
    )
