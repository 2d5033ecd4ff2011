"""Parses the arguments of `nacre check`, `tasks` and most other commands.

Written by hand: argparse takes a tenth of the time that a whole check may take. `parse_args` is pure.
"""

from __future__ import annotations

import os

from nacre.cli.common.usage import UsageError, nearest, quote_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from nacre.policy.policy import Policy

HELP = ("-h", "--help")


class ParsedArgs:
    """Options and operands of one command line."""

    __slots__ = ("flags", "operands", "values")

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {}
        self.operands: list[str] = []

    def __contains__(self, flag: str) -> bool:
        return flag in self.flags

    def last(self, option: str) -> str | None:
        """Return the last value given for `option`; None if there is none."""
        return self.values[option][-1] if option in self.values else None


def parse_args(
    name: str,
    words: list[str],
    *,
    flags: tuple[str, ...],
    valued: tuple[str, ...] = (),
    takes: tuple[int, int | None] | None = None,
) -> ParsedArgs:
    """Parse `words`, the arguments after the command `name`. `takes` is the minimum and maximum number of operands
    (maximum None: no limit); with `takes` None, there is at most one operand, which may be a shell command. Raise
    UsageError for invalid arguments."""
    found = ParsedArgs()
    first = len(words)
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word == "--":
            first = min(first, position)
            found.operands += words[position:]
            break
        option, equals, value = word.partition("=")
        if word[:1] != "-" or word == "-":
            first = min(first, position - 1)
            found.operands.append(word)
        elif word in flags or word in HELP:
            found.flags.add("--help" if word in HELP else word)
        elif option in valued:
            if not equals:
                if position == len(words):
                    raise UsageError(f"{option} needs a value.", f"Write: {option}=VALUE", field=option.lstrip("-"))
                value = words[position]
                position += 1
            found.values.setdefault(option, []).append(raw_text(value))
        elif found.operands and takes is None:
            found.operands.append(word)  # an option of a command that was not quoted
        else:
            near = nearest(option, (*flags, *valued, "--help"))
            hint = f"Did you mean: {near}" if near else f"Try: nacre {name} --help"
            raise UsageError(f"Unknown option: {option}.", hint)
    if "--help" not in found:
        if takes is not None:
            _check_count(name, found.operands, *takes)
        elif len(found.operands) > 1:
            raise _too_many(name, words[first:])
    found.operands = [raw_text(word) for word in found.operands]
    return found


def raw_text(word: str) -> str:
    """Return an argument as the library expects text: its bytes decoded as UTF-8 with surrogateescape, whatever the
    locale."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")


def variables(found: ParsedArgs) -> Mapping[str, str]:
    """Return the variables that `--env NAME=VALUE` sets."""
    env = {}
    for word in found.values.get("--env", ()):
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--env {word!r} sets nothing.", "Write --env NAME=VALUE.", field="env")
        env[name] = value
    return env


def policy_of(found: ParsedArgs, cwd: str | None) -> Policy:
    """Return the policy configured for the directory `cwd`, or the default policy with `--no-config`."""
    if "--no-config" in found:
        from nacre.policy.policy import DEFAULT

        return DEFAULT
    from nacre.config import policy_for

    return policy_for(cwd)


def int_option(found: ParsedArgs, option: str) -> int | None:
    """Return the value of an integer option; None if it was not given. Raise UsageError if it is not an integer."""
    word = found.last(option)
    try:
        return None if word is None else int(word)
    except ValueError:
        raise UsageError(f"{option} {word!r} is not an integer.", field=option.lstrip("-")) from None


def _check_count(name: str, operands: list[str], least: int, most: int | None) -> None:
    if len(operands) < least:
        raise UsageError(f"nacre {name} needs the id of a task.", "`nacre tasks` lists them.", field="task")
    if most is not None and len(operands) > most:
        raise UsageError(f"nacre {name} does not take {operands[most]!r}.", f"Try: nacre {name} --help")


def _too_many(name: str, given: list[str]) -> UsageError:
    if name == "rules":
        return UsageError(f"Expected one rule, got {len(given)}.", "Write: nacre rules ID")
    return UsageError(
        f"The command must be one argument, got {len(given)}.",
        f"Quote it: nacre {name} {quote_words(given)}",
        field="command",
    )
