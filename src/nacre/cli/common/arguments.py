"""Base classes of the arguments of a command and of groups of options: one attribute for each option, with its default.

`parse` loads argparse only if a word begins with `-`: argparse takes a tenth of the time of a whole `nacre check`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from nacre.cli.common.parser import OptionParser
    from nacre.cli.common.usage import UsageError


class OptionGroup:
    """Options that are passed on together, or that several commands have. A subclass has a class attribute for the
    default of each option."""


class Arguments:
    """Arguments of one command. A subclass has a class attribute for the default of each option; those of a group are
    attributes of the group, which `__init__` makes."""

    COMMAND = ""
    """Words after `nacre` that select the command."""
    USAGE: tuple[tuple[str, str], ...] = ()
    """Lines of the usage: the arguments, and what they do."""
    DESCRIPTION = ""
    """Help text above the options."""
    EPILOG = ""
    """Help text below the options."""
    MIN_OPERANDS = 0
    MAX_OPERANDS: int | None = 0
    """Largest number of words that are not options; None: no limit."""
    TAKES_COMMAND = False
    """True if the operand is shell text: options after it are taken for those of a command that was not quoted."""
    HELP_ROW: str | None = None
    """Help text of `--help` itself; None: not listed."""

    operands: list[str]

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        """Declare the options and their help texts."""

    @classmethod
    def parse(cls, words: list[str]) -> Self:
        """Parse the words after the command. Raise UsageError if they are invalid, HelpRequested for `--help`."""
        words = [raw_text(word) for word in words]
        found = cls()
        if any(word[:1] == "-" and word != "-" for word in words):
            from nacre.cli.common.parser import parse_options

            parse_options(words, found)
        else:
            found.operands = words
        count = len(found.operands)
        if count < cls.MIN_OPERANDS or (cls.MAX_OPERANDS is not None and count > cls.MAX_OPERANDS):
            raise found._operand_error(words)
        return found

    def set_option(self, name: str, value: object) -> None:
        """Set the attribute of an option, in the group that has it."""
        groups = (each for each in vars(self).values() if isinstance(each, OptionGroup))
        owner = next((group for group in groups if hasattr(group, name)), self)
        setattr(owner, name, value)

    def _operand_error(self, words: list[str]) -> UsageError:
        from nacre.cli.common.usage import UsageError, unquoted_command

        if len(self.operands) < self.MIN_OPERANDS:
            return UsageError(
                f"nacre {self.COMMAND} needs the id of a task.", "`nacre tasks` lists them.", field="task"
            )
        if self.TAKES_COMMAND:
            return unquoted_command(self.COMMAND, words, self.operands)
        extra = self.operands[self.MAX_OPERANDS or 0]
        return UsageError(f"nacre {self.COMMAND} does not take {extra!r}.", f"Try: nacre {self.COMMAND} --help")


def raw_text(word: str) -> str:
    """Return an argument as the library expects text: its bytes decoded as UTF-8 with surrogateescape, whatever the
    locale."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")
