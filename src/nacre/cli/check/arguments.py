"""Options and operand of the commands that ask the checker about a shell command."""

from __future__ import annotations

import os

from nacre.cli.common.arguments import OptionGroup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.arguments import Arguments
    from nacre.cli.common.parser import OptionParser
    from nacre.policy.policy import Policy


class CheckOptions(OptionGroup):
    """Options of `nacre check` and `nacre explain`: where and with what the command would run."""

    cwd: str | None = None
    env: list[tuple[str, str]] | None = None
    stdin: str | None = None
    no_config = False

    @staticmethod
    def add_options(parser: OptionParser) -> None:
        from nacre.cli.common.parser import assignment

        add = parser.add_argument
        parser.add_operand("'command'", "shell text, as one argument; without it, or with -, it is read from stdin")
        add("--cwd", metavar="DIR", help="where it would run (default: here)")
        add(
            "--env",
            type=assignment,
            action="append",
            metavar="NAME=VALUE",
            help="a variable that it would get (may be repeated)",
        )
        add("--stdin", metavar="TEXT", help="the input that it would get: a script, where a shell would read it")
        add("--no-config", action="store_true", help="use only nacre's built-in rules; ignore the configuration")

    def load_policy(self, cwd: str | None) -> Policy:
        """Return the policy configured for the directory `cwd`, or the default policy with `--no-config`."""
        if self.no_config:
            from nacre.policy.policy import DEFAULT

            return DEFAULT
        from nacre.config import policy_for

        return policy_for(cwd)


def read_command(args: Arguments) -> str:
    """Return the command given, or read it from standard input. Raise UsageError if it is empty: a caller that lost
    its command must not read that it is harmless."""
    if args.operands and args.operands[0] != "-":
        return check_usable(args.operands[0])
    from nacre.cli.common.messages import notice
    from nacre.cli.common.stdin import read_input

    if not args.operands and os.isatty(0):
        example = f"nacre {args.COMMAND} 'command'"
        notice(f"reading the command from the terminal until Ctrl-D; or pass it: {example}")
    return check_usable(read_input().decode("utf-8", "surrogateescape"))


def check_usable(command: str) -> str:
    """Return `command`. Raise UsageError if it is blank or contains a NUL byte."""
    if command.strip() and "\0" not in command:
        return command
    from nacre.cli.common.usage import UsageError

    if "\0" in command:
        raise UsageError("`command` contains a NUL byte, which a shell cannot read.", field="command")
    raise UsageError("The command is empty.", "Give a shell command.", field="command")
