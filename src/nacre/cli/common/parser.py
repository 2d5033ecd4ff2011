"""Parses options with argparse: errors are a UsageError, `--help` is a HelpRequested, and neither exits."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from nacre.base import units
from nacre.base.suggest import find_nearest
from nacre.cli.common.messages import HelpRequested
from nacre.cli.common.usage import UsageError

if TYPE_CHECKING:
    from nacre.cli.common.arguments import Arguments


class OptionParser(argparse.ArgumentParser):
    """Parser of a command's options. Operands are declared for the help text only: argparse would not accept options
    between them."""

    def __init__(self, arguments: type[Arguments]) -> None:
        rows = [(f"nacre {arguments.COMMAND} {words}".rstrip(), text) for words, text in arguments.USAGE]
        width = max((len(words) for words, _ in rows), default=0) + 5
        usage = "\n       ".join(f"{words:<{width}}{text}".rstrip() for words, text in rows)
        super().__init__(
            prog=f"nacre {arguments.COMMAND}",
            usage=usage.replace("%", "%%"),
            description=arguments.DESCRIPTION,
            epilog=arguments.EPILOG,
            formatter_class=_Formatter,
            add_help=False,
            allow_abbrev=False,
            argument_default=argparse.SUPPRESS,  # only options that were given get a value
            exit_on_error=False,
        )
        self.color = False  # Python 3.14 would colour the help text
        self._operands: list[tuple[str, str]] = []
        self.add_argument("-h", "--help", action=_ShowHelp, help=arguments.HELP_ROW or argparse.SUPPRESS)
        arguments.add_options(self)

    def add_operand(self, metavar: str, help: str) -> None:
        """Add a line about an operand to the help text."""
        self._operands.append((metavar, help))

    def format_help(self) -> str:
        for metavar, text in self._operands:
            self.add_argument(metavar, nargs="*", help=text)
        self._operands.clear()
        return super().format_help()

    @property
    def option_names(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]


class InvalidOptionValue(argparse.ArgumentTypeError):
    """The value of an option is invalid. The text is the value and, on a second line, the hint."""

    def __init__(self, word: str, hint: str) -> None:
        super().__init__(f"{word!r}\n{hint}")


class _ShowHelp(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str, default: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=default, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        raise HelpRequested(parser.format_help())


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Formatter with a fixed width: argparse takes longer to query the terminal than for all the rest."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


def parse_options(words: list[str], into: Arguments) -> None:
    """Parse `words` and set the attribute of `into` for each option given, and `operands`."""
    parser = OptionParser(type(into))
    try:
        given, rest = parser.parse_known_args(words)
    except argparse.ArgumentError as error:
        raise _usage_error(error, into.COMMAND) from None
    for option, value in vars(given).items():
        into.set_option(option, value)
    into.operands = []
    while rest:
        word = rest.pop(0)
        if word == "--":
            into.operands += rest
            return
        # a word with a blank cannot be an option, nor one after a command that was not quoted
        if word[:1] == "-" and word != "-" and " " not in word and not (into.TAKES_COMMAND and into.operands):
            raise _unknown_option(word, parser)
        into.operands.append(word)


def _usage_error(error: argparse.ArgumentError, command: str) -> UsageError:
    name = (error.argument_name or "").split("/")[-1]
    value, newline, hint = error.message.partition("\n")
    field = name.lstrip("-")
    if newline:
        return UsageError(f"Invalid value for {name}: {value}.", hint, field=field)
    if "expected" in value:
        return UsageError(
            f"{name} needs a value.", f"A value that begins with '-' is written {name}=VALUE.", field=field
        )
    return UsageError(f"{name} takes no value.", f"Try: nacre {command} --help", field=field)


def _unknown_option(word: str, parser: OptionParser) -> UsageError:
    name = word.partition("=")[0]
    near = find_nearest(name, parser.option_names)
    return UsageError(f"Unknown option: {name}.", f"Did you mean: {near}" if near else f"Try: {parser.prog} --help")


# types of values


def assignment(word: str) -> tuple[str, str]:
    """Parse `NAME=VALUE`."""
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise InvalidOptionValue(word, "Write NAME=VALUE.")
    return name, value


def choice(values: Iterable[str]) -> Callable[[str], str]:
    """Return the type of an option that takes one of `values`."""
    known = tuple(values)

    def parse_choice(word: str) -> str:
        if word not in known:
            raise InvalidOptionValue(word, f"Use one of {', '.join(known)}.")
        return word

    return parse_choice


def integer(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise InvalidOptionValue(word, "Give an integer.") from None


def count(word: str) -> int:
    """Parse a number of things, at least 0."""
    if (number := integer(word)) < 0:
        raise InvalidOptionValue(word, "Give 0 or more.")
    return number


def duration(word: str) -> float:
    """Parse a duration with or without a unit into seconds."""
    seconds = units.parse_duration(word)
    if seconds is None:
        raise InvalidOptionValue(word, "Write seconds, or 30s, 5m, 12h, 7d.")
    return seconds


def seconds(word: str) -> float:
    """Parse a number of seconds."""
    try:
        return float(word)
    except ValueError:
        meant = units.parse_duration(word)
        raise InvalidOptionValue(word, "Give seconds." if meant is None else f"Write {meant:g}.") from None


def size(word: str) -> int:
    """Parse a size into bytes."""
    found = units.parse_size(word)
    if found is None:
        raise InvalidOptionValue(word, "Write bytes, or 512M, 4G.")
    return found
