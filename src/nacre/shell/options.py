"""Words → options, their values, and what is left: one way to read them for everybody who asks.

Which options take a value is a program's own affair: its `OptionSpec`. Long names may be cut short, as GNU's programs
allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from nacre.base.lazy_regex import lazy_regex

_ASSIGNMENT = lazy_regex(r"[A-Za-z_][\w%]*=", re.ASCII)
_OFF = ("false", "no", "0", "none")


class ParsedOptions:
    """A program's arguments, sorted."""

    __slots__ = ("dashed", "operands", "options")

    def __init__(self) -> None:
        self.options: list[tuple[str, str | None]] = []
        """In order, by full name: `-f`, `--force`."""
        self.operands: list[str] = []
        self.dashed: int | None = None
        """How many operands stand before `--`, if there is one."""

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def is_set(self, *names: str) -> bool:
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


class OptionSpec:
    """The options of a program that take a word of their own, and, of a wrapper, what stands before its command."""

    __slots__ = ("assignments", "attached", "exact", "long", "names", "operands", "short")

    def __init__(
        self,
        short: str = "",
        long: str = "",
        *,
        flags: str = "",
        attached: str = "",
        exact: str = "",
        operands: int = 0,
        assignments: bool = False,
    ) -> None:
        self.short = short
        """Letters of the options that take a value: `-u root`, `-uroot`."""
        self.attached = attached
        """Letters of those whose value, if there is one, stands in the same word: `-i.bak`."""
        self.exact = frozenset(exact.split())
        """Words with one dash that take a value: `-out file`. A program that has such ones knows no clusters."""
        self.long = frozenset(long.split())
        self.names = (*long.split(), *flags.split())
        """All long names that may be meant by a shorter one; of several the first."""
        self.operands = operands
        """How many words (a duration, a host) stand between the options and the command."""
        self.assignments = assignments
        """`NAME=value` may stand before the command."""

    def option(self, word: str, following: str | None) -> tuple[list[tuple[str, str | None]], bool]:
        """What an option's word says, with the word after it; and whether that is its value."""
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            full = self._full(name)
            takes = not equals and full in self.long
            return [("--" + full, value if equals else following if takes else None)], takes and following is not None
        if self.exact:
            takes = word in self.exact
            return [(word, following if takes else None)], takes and following is not None
        found: list[tuple[str, str | None]] = []
        for place, letter in enumerate(word[1:], 2):
            if letter in self.short:
                value_ = word[place:] or following
                return [*found, ("-" + letter, value_)], place == len(word) and following is not None
            if letter in self.attached:
                return [*found, ("-" + letter, word[place:] or None)], False
            found.append(("-" + letter, None))
        return found, False

    def _full(self, name: str) -> str:
        if name in self.names or not name:
            return name
        for each in self.names:
            if each.startswith(name):
                return each
        if name.startswith("no-"):
            return "no-" + next((each for each in self.names if each.startswith(name[3:])), name[3:])
        return name

    def parse(self, words: Iterable[str]) -> ParsedOptions:
        """Options may stand anywhere before `--`."""
        given, words = ParsedOptions(), tuple(words)
        index = 0
        while index < len(words):
            word = words[index]
            index += 1
            if word[:1] != "-" or word == "-":
                given.operands.append(word)
            elif word == "--":
                given.dashed = len(given.operands)
                given.operands += words[index:]
                break
            else:
                options, taken = self.option(word, words[index] if index < len(words) else None)
                given.options += options
                index += taken
        return given

    def command(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The words of the wrapped command."""
        index = self.first(argv)
        operands = self.operands
        while index < len(argv):
            if self.assignments and _ASSIGNMENT.match(argv[index]):
                index += 1
            elif operands:
                operands -= 1
                index += 1
            else:
                break
        if index < len(argv) and argv[index] == "--" and self.operands:
            index += 1
        return argv[index:]

    def first(self, argv: tuple[str, ...]) -> int:
        """The index of the first word that is no option."""
        index = 1
        while index < len(argv):
            word = argv[index]
            if word == "--":
                return index + 1
            if word[:1] != "-" or word == "-":
                return index
            index += 1 + self.option(word, argv[index + 1] if index + 1 < len(argv) else None)[1]
        return index

    def leading(self, argv: tuple[str, ...]) -> ParsedOptions:
        """Options only up to the first word that is none, as a wrapper reads them."""
        return self.parse(argv[1 : self.first(argv)])

    def value(self, argv: tuple[str, ...], *names: str) -> str | None:
        """The value of an option, however it is spelled: `-o x`, `-ox`, `-vox`, `--output=x`, `--outp x`."""
        found = self.leading(argv).values(*names)
        return found[0] if found else None


@lru_cache(256)
def spec_for(valued: tuple[str, ...]) -> OptionSpec:
    """The shape of a program of which only these options matter: `-C`, `--file`, `-out`."""
    exact = [each for each in valued if len(each) > 2 and not each.startswith("--")]
    letters = [each for each in valued if len(each) == 2]
    long = " ".join(each[2:] for each in valued if each.startswith("--"))
    if exact:
        return OptionSpec("", long, exact=" ".join((*exact, *letters)))
    return OptionSpec("".join(each[1] for each in letters), long)


@lru_cache(256)
def spec_from_letters(letters: str, longs: str) -> OptionSpec:
    """By letters that take a value, and long names, of which `name=` takes one."""
    names = longs.split()
    shape = OptionSpec(letters)
    shape.names = tuple(name.rstrip("=") for name in names)
    shape.long = frozenset(name[:-1] for name in names if name.endswith("="))
    return shape
