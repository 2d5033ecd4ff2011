"""Parse arguments into options, their values, and operands. All callers share this parser.

An `OptionSpec` says which options of a program take a value. Long names may be abbreviated, as GNU programs allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from nacre.base.lazy_regex import lazy_regex

_ASSIGNMENT = lazy_regex(r"[A-Za-z_][\w%]*=", re.ASCII)
_OFF = ("false", "no", "0", "none")


class ParsedOptions:
    """Arguments of a program, sorted into options and operands."""

    __slots__ = ("dashed", "operands", "options")

    def __init__(self) -> None:
        self.options: list[tuple[str, str | None]] = []
        """In order, by full name (`-f`, `--force`), each with its value or None."""
        self.operands: list[str] = []
        self.dashed: int | None = None
        """Number of operands before `--`; None without `--`."""

    def has(self, *names: str) -> bool:
        """Tell whether one of these options is given."""
        return any(name in names for name, _ in self.options)

    def is_set(self, *names: str) -> bool:
        """Tell whether a switch is on. The last one wins: `--force --no-force` is off, and so is `--all=false`."""
        state = False
        for name, value in self.options:
            if name in names:
                state = value not in _OFF
            elif name.startswith("--no-") and "--" + name[5:] in names:
                state = False
        return state

    def values(self, *names: str) -> list[str]:
        """Return the values of these options, in order."""
        return [value for name, value in self.options if name in names and value is not None]


class OptionSpec:
    """The options of a program that take a value and, for a wrapper, the words that precede its command."""

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
        """Letters of options that take a value: `-u root`, `-uroot`."""
        self.attached = attached
        """Letters of options whose optional value is in the same word: `-i.bak`."""
        self.exact = frozenset(exact.split())
        """Options with one dash and a long name that take a value: `-out file`. A program with such options has no
        clusters of letters."""
        self.long = frozenset(long.split())
        self.names = (*long.split(), *flags.split())
        """All long names that may be abbreviated; the first match wins."""
        self.operands = operands
        """Number of words (a duration, a host) between the options and the command."""
        self.assignments = assignments
        """`NAME=value` words may come before the command."""

    def option(self, word: str, following: str | None) -> tuple[list[tuple[str, str | None]], bool]:
        """Parse an option word. Return its options with their values, and whether `following` is a value."""
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
        """Parse arguments. Options may follow operands, up to `--`."""
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
        """Return the argv of the command that a wrapper runs; `argv` is the wrapper's."""
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
        """Return the index of the first word after the leading options."""
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
        """Parse only the options before the first operand, as a wrapper does."""
        return self.parse(argv[1 : self.first(argv)])

    def value(self, argv: tuple[str, ...], *names: str) -> str | None:
        """Return the first value of an option, however it is spelled: `-o x`, `-ox`, `-vox`, `--output=x`, `--outp x`.

        Only the options before the first operand are considered. None if it is not given.
        """
        found = self.leading(argv).values(*names)
        return found[0] if found else None


@lru_cache(256)
def spec_for(valued: tuple[str, ...]) -> OptionSpec:
    """Return a spec in which only these options take a value: `-C`, `--file`, `-out`."""
    exact = [each for each in valued if len(each) > 2 and not each.startswith("--")]
    letters = [each for each in valued if len(each) == 2]
    long = " ".join(each[2:] for each in valued if each.startswith("--"))
    if exact:
        return OptionSpec("", long, exact=" ".join((*exact, *letters)))
    return OptionSpec("".join(each[1] for each in letters), long)


@lru_cache(256)
def spec_from_letters(letters: str, longs: str) -> OptionSpec:
    """Return a spec from the letters that take a value, and long names; `name=` takes one."""
    names = longs.split()
    shape = OptionSpec(letters)
    shape.names = tuple(name.rstrip("=") for name in names)
    shape.long = frozenset(name[:-1] for name in names if name.endswith("="))
    return shape
