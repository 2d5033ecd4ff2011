"""Errors in the command line, with hints how to fix them. Pure."""

from __future__ import annotations

from nacre.errors import InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

COMMANDS = (
    "run",
    "check",
    "explain",
    "rules",
    "doctor",
    "config",
    "tasks",
    "output",
    "wait",
    "kill",
    "write",
    "clean",
    "gallery",
    "schema",
    "profiles",
    "audit",
    "hook",
    "mcp",
)


class UsageError(InvalidRequest):
    """The command line is invalid."""

    def __init__(self, message: str, hint: str = "", *, field: str = "") -> None:
        super().__init__("usage", message, field=field, hint=hint)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the entry of `known` closest to `word`; None if none is close."""
    from nacre.base.suggest import find_nearest  # `nacre hook` and `nacre check` start without it

    return find_nearest(word, known)


def unknown_command(word: str, rest: list[str]) -> UsageError:
    """Return the error for an unknown command, with a suggestion."""
    if word.startswith("-"):
        return UsageError(
            f"Unknown option before the command name: {word}.",
            f"Options follow the command name: nacre run {word} …" if rest else "Try: nacre --help",
        )
    if near := nearest(word, COMMANDS):
        return UsageError(f"Unknown command {word!r}.", f"Did you mean: nacre {near}")
    return UsageError(f"Unknown command {word!r}.", f"To run it in a shell: nacre run {quote_words([word, *rest])}")


def quote_words(words: list[str]) -> str:
    """Quote `words` as one shell argument. Several words are joined as the program would have received them."""
    import shlex

    return shlex.quote(words[0] if len(words) == 1 else shlex.join(words))
