"""A command's arguments, sorted into options and operands by what that command takes."""

from __future__ import annotations

from collections.abc import Iterable

from nacre.shell.command import Command
from nacre.shell.options import Given, reading
from nacre.shell.symbolic import could_be, has_glob, shown

__all__ = ["Given", "said", "sort", "tool"]


def sort(args: Iterable[str], values: str = "", longs: str = "") -> Given:
    """`values`: letters that take a value. `longs`: long names that may be cut short, `name=` takes a value."""
    return reading(values, longs).sort(args)


def said(*words: str) -> str:
    """Words as a reader would write them."""
    return " ".join(shown(word) for word in words)


def tool(command: Command, *names: str) -> str:
    """Which of these programs it is, or may be if its name is a glob (`/usr/bin/gi?`); none gives ""."""
    if command.name in names:
        return command.name
    return next((name for name in names if could_be(command.name, name)), "") if has_glob(command.name) else ""
