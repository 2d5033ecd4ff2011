"""The text of `nacre --help`, generated from the table of commands."""

from __future__ import annotations

from collections.abc import Iterable

from nacre.cli.commands import CHECK_COMMANDS, OTHER_COMMANDS, TASK_COMMANDS, CliCommand

_USAGE_COLUMNS = 33
"""Width of the column of usage lines."""
_FOOTER = """\
nacre runs shell commands for AI agents: each is checked before it runs, output passes through unchanged,
every process has an owner, and no process outlives its command unnoticed.

exit codes of `nacre run`: the command's own; 128+n killed by signal n; 75 keeps running as a task; 124 timed out;
125 nacre itself failed; 126 refused; 130 Ctrl-C. Of `nacre check` and `explain`: 0 allow; 1 ask;
2 refuse; 3 nacre itself failed. `nacre COMMAND --help` has those of the others.
"""


def format_help() -> str:
    """Return the usage of all commands."""
    rows = [
        *_rows(CHECK_COMMANDS),
        ("", ""),
        ("run --background 'command'", "start a background task"),
        *_rows(TASK_COMMANDS),
        ("", ""),
        *_rows(OTHER_COMMANDS),
        ("--version", ""),
        ("COMMAND --help", "the options of one command"),
    ]
    lines = [f"nacre {usage}".ljust(_USAGE_COLUMNS) + f" {summary}" if usage else "" for usage, summary in rows]
    indented = [f"       {line}".rstrip() for line in lines]
    return "\n".join(("usage: " + indented[0].lstrip(), *indented[1:], "", _FOOTER))


def _rows(commands: Iterable[CliCommand]) -> list[tuple[str, str]]:
    return [(f"{command.name} {command.operands}".rstrip(), command.summary) for command in commands]
