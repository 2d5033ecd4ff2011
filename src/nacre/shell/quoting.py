"""Quote words for the shell. Every word is quoted, so that data stays data.

For callers who build commands; nacre itself runs commands as they are given.
"""

from __future__ import annotations

from collections.abc import Iterable


def escape_arg(text: str) -> str:
    """Return `text` as one shell word, always in single quotes: `'it'\\''s'`."""
    return "'" + text.replace("'", "'\\''") + "'"


def build_safe_command(command: str, arguments: Iterable[str]) -> str:
    """Return a command line of `command`, taken as it is, and its arguments, each quoted."""
    return " ".join((command, *(escape_arg(argument) for argument in arguments)))
