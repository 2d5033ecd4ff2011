"""Words → shell text: quoting that always quotes, so that what was meant as data stays data.

For callers who build commands; nacre itself takes them as they are.
"""

from __future__ import annotations

from collections.abc import Iterable


def escape_arg(text: str) -> str:
    """One word, in single quotes whatever is in it: `'it'\\''s'`."""
    return "'" + text.replace("'", "'\\''") + "'"


def build_safe_command(command: str, arguments: Iterable[str]) -> str:
    """A command and its arguments, each quoted. The command itself is taken as it is."""
    return " ".join((command, *(escape_arg(argument) for argument in arguments)))
