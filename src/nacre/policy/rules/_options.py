"""A command's arguments, sorted into options and operands by what that command takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nacre.shell.command import Command
from nacre.shell.text import could_be, has_glob, shown

_OFF = ("false", "no", "0", "none")


class Given:
    __slots__ = ("dashed", "operands", "options")

    def __init__(self) -> None:
        self.options: list[tuple[str, str | None]] = []
        """In order, by full name: `-f`, `--force`."""
        self.operands: list[str] = []
        self.dashed: int | None = None
        """How many operands stand before `--`, if there is one."""

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def on(self, *names: str) -> bool:
        """The last word on a switch: `--force --no-force` is off, and so is `--all=false`."""
        state = False
        for name, value in self.options:
            if name in names:
                state = value not in _OFF
            elif name.startswith("--no-") and "--" + name[5:] in names:
                state = False
        return state

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.options if name in names and value is not None]


def sort(args: Iterable[str], values: str = "", longs: str = "") -> Given:
    """`values`: letters that take a value. `longs`: long names that may be cut short, `name=` takes a value."""
    given = Given()
    rest = iter(args)
    for word in rest:
        if word == "--":
            given.dashed = len(given.operands)
            given.operands.extend(rest)
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            full = _full(name, longs.split())
            if not equals and full.endswith("="):
                value = next(rest, "")
            given.options.append(("--" + full.rstrip("="), value if equals or full.endswith("=") else None))
        elif len(word) > 1 and word[0] == "-":
            given.options += _cluster(word[1:], values, rest)
        else:
            given.operands.append(word)
    return given


def said(*words: str) -> str:
    """Words as a reader would write them."""
    return " ".join(shown(word) for word in words)


def tool(command: Command, *names: str) -> str:
    """Which of these programs it is, or may be if its name is a glob (`/usr/bin/gi?`); none gives ""."""
    if command.name in names:
        return command.name
    return next((name for name in names if could_be(command.name, name)), "") if has_glob(command.name) else ""


def _full(name: str, names: list[str]) -> str:
    if name in names or name + "=" in names:
        return name if name in names else name + "="
    for each in names:
        if name and each.startswith(name):
            return each
    return "no-" + _full(name[3:], names).rstrip("=") if name.startswith("no-") else name


def _cluster(letters: str, values: str, rest: Iterator[str]) -> Iterator[tuple[str, str | None]]:
    for index, letter in enumerate(letters):
        if letter in values:
            yield "-" + letter, letters[index + 1 :] or next(rest, "")
            return
        yield "-" + letter, None
