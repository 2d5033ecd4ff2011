"""A command's arguments, sorted into options and operands by what that command takes."""

from __future__ import annotations

from collections.abc import Iterable

from nacre.shell.command import Command
from nacre.shell.options import ParsedOptions, spec_from_letters
from nacre.shell.symbolic import has_glob, may_equal, to_display

__all__ = ["ParsedOptions", "parse_options", "render", "which_program"]


def parse_options(args: Iterable[str], values: str = "", longs: str = "") -> ParsedOptions:
    """Parse options. `values`: letters with a value. `longs`: long names, also abbreviated; `name=` takes a value."""
    return spec_from_letters(values, longs).parse(args)


def render(*words: str) -> str:
    """Return words as in source code."""
    return " ".join(to_display(word) for word in words)


def which_program(command: Command, *names: str) -> str:
    """Return which of these programs a command is, or may be if its name is a glob (`/usr/bin/gi?`); "" if none."""
    if command.name in names:
        return command.name
    return next((name for name in names if may_equal(command.name, name)), "") if has_glob(command.name) else ""
