"""Where a wrapper's own words end and the command that it runs begins."""

from __future__ import annotations

import re

_ASSIGNMENT = re.compile(r"[A-Za-z_][\w%]*=", re.ASCII)


class Shape:
    """The options of a wrapper that take a word of their own, and the words that stand before its command."""

    __slots__ = ("assignments", "long", "operands", "short")

    def __init__(self, short: str = "", long: str = "", *, operands: int = 0, assignments: bool = False) -> None:
        self.short = short
        """Letters of the options that take a value: `-u root`, `-uroot`."""
        self.long = frozenset(long.split())
        self.operands = operands
        """How many words (a duration, a host) stand between the options and the command."""
        self.assignments = assignments
        """`NAME=value` may stand before the command."""

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
            index += 1 + self._takes_next(word)
        return index

    def _takes_next(self, word: str) -> bool:
        if word.startswith("--"):
            return "=" not in word and any(name == word[2:] for name in self.long)
        for place, letter in enumerate(word[1:], 2):
            if letter in self.short:
                return place == len(word)
        return False

    def value(self, argv: tuple[str, ...], *names: str) -> str | None:
        """The value of an option, however it is spelled: `-o x`, `-ox`, `-vox`, `--output=x`, `--output x`."""
        end = self.first(argv)
        for index in range(1, min(end, len(argv))):
            word = argv[index]
            if word.startswith("--"):
                name, equals, value = word.partition("=")
                if name in names:
                    return value if equals else (argv[index + 1] if index + 1 < len(argv) else None)
                continue
            if word[:1] != "-":
                continue
            for place, letter in enumerate(word[1:], 2):
                if f"-{letter}" in names:
                    return word[place:] or (argv[index + 1] if index + 1 < len(argv) else None)
                if letter in self.short:
                    break
        return None
