"""Errors in the command line, with hints how to fix them. Pure."""

from __future__ import annotations

from nacre.errors import InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class UsageError(InvalidRequest):
    """The command line is invalid."""

    def __init__(self, message: str, hint: str = "", *, field: str = "") -> None:
        super().__init__("usage", message, field=field, hint=hint)


def unknown_command(word: str, rest: list[str], known: Iterable[str]) -> UsageError:
    """Return the error for an unknown command, with a suggestion."""
    if word.startswith("-"):
        return UsageError(
            f"Unknown option before the command name: {word}.",
            f"Options follow the command name: nacre run {word} …" if rest else "Try: nacre --help",
        )
    from nacre.base.suggest import find_nearest  # `nacre hook` and `nacre check` start without it

    if near := find_nearest(word, known):
        return UsageError(f"Unknown command {word!r}.", f"Did you mean: nacre {near}")
    return UsageError(f"Unknown command {word!r}.", f"To run it in a shell: nacre run {quote_words([word, *rest])}")


def unquoted_command(command: str, words: list[str], operands: list[str]) -> UsageError:
    """Return the error for shell text that was not quoted. `words` are all arguments of `nacre COMMAND`."""
    has_options = any(word.startswith("-") for word in operands)
    given = words[words.index(operands[0]) :] if has_options else operands
    return UsageError(
        f"The command must be one argument, got {len(given)}.",
        f"Quote it: nacre {command} {quote_words(given)}",
        field="command",
    )


def quote_words(words: list[str]) -> str:
    """Quote `words` as one shell argument. Several words are joined as the program would have received them."""
    import shlex

    return shlex.quote(words[0] if len(words) == 1 else shlex.join(words))
