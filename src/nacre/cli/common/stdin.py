"""Reads the command to examine: the operand, or standard input."""

from __future__ import annotations

import os

from nacre.cli.common.messages import notice
from nacre.cli.common.usage import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import ParsedArgs


def command_of(name: str, args: ParsedArgs) -> str:
    """Return the command given to `nacre NAME`. Raise UsageError if it is empty: a caller that lost its command must
    not read that it is harmless."""
    if args.operands and args.operands[0] != "-":
        return usable(args.operands[0])
    if not args.operands and os.isatty(0):
        notice(f"reading the command from the terminal until Ctrl-D; or pass it: nacre {name} 'command'")
    return usable(read_input().decode("utf-8", "surrogateescape"))


def usable(command: str) -> str:
    """Return `command`. Raise UsageError if it is blank or contains a NUL byte."""
    if not command.strip():
        raise UsageError("The command is empty.", "Give a shell command.", field="command")
    if "\0" in command:
        raise UsageError("`command` contains a NUL byte, which a shell cannot read.", field="command")
    return command


def read_input() -> bytes:
    """Read standard input up to EOF. Raise UsageError if that fails."""
    try:
        with open(0, "rb", closefd=False) as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"Cannot read standard input: {error.strerror}.", field="stdin") from error
