"""Entry point of the command line: dispatches `nacre run`, `check`, `tasks` and the other commands.

Takes the arguments and returns the exit code. Each command's modules are imported on dispatch: start-up time is mostly
import time. Every exception that nacre raises on purpose is caught here and becomes a line on stderr (with `--json`, a
JSON object on stdout) and an exit code of nacre's.
"""

from __future__ import annotations

import os
import sys

from nacre.cli.commands import find_command
from nacre.cli.common.exit_codes import EXIT_REFUSED, FailureCodes
from nacre.cli.common.messages import HelpRequested, WriteFailed, notice, write_json, write_out

TYPE_CHECKING = False  # as in `nacre`: importing `typing` would take as long as the rest of `nacre --version`
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nacre.cli.commands import CliCommand


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Without `argv`, take it from `sys.argv` and exit the process."""
    if argv is not None:
        return _run_command_line(list(argv), own=False)
    code = _run_command_line(sys.argv[1:], own=True)
    os._exit(code)  # nothing of ours is buffered, and interpreter shutdown takes time


def _run_command_line(words: list[str], *, own: bool) -> int:
    _occupy_standard_streams()
    command, rest = find_command(words)
    codes = FailureCodes() if command is None else command.failure_codes
    try:
        try:
            return _print_help(words) if command is None else _run_command(command, rest, own=own)
        except (BrokenPipeError, WriteFailed):
            raise
        except HelpRequested as help:
            write_out(str(help))
            return 0
        except Exception as error:
            return _print_error(error, failed=codes.error, as_json=_as_json(words))
    except KeyboardInterrupt:
        return codes.interrupted
    except BrokenPipeError:
        return codes.broken_pipe
    except WriteFailed as error:
        notice(f"Cannot write the output: {error}.")
        return codes.error


def _as_json(words: list[str]) -> bool:
    if not {"--json", "--jsonl", "--view=json"}.isdisjoint(words):
        return True
    return "--view" in words and words[words.index("--view") + 1 :][:1] == ["json"]


def _run_command(command: CliCommand, rest: list[str], *, own: bool) -> int:
    run = command.load()
    return run(rest, own=own) if command.takes_own else run(rest)


def _print_help(words: list[str]) -> int:
    """Handle a command line without a command: `--help`, `--version`, no words or an unknown command."""
    match words:
        case ["--version" | "-V", *_]:
            from nacre import __version__

            write_out(f"nacre {__version__}\n")
            return 0
        case ["--help" | "-h" | "help", *_]:
            from nacre.cli.help import format_help

            write_out(format_help())
            return 0
        case [word, *rest]:
            from nacre.cli.commands import COMMANDS
            from nacre.cli.common.usage import unknown_command

            raise unknown_command(word, rest, (command.name for command in COMMANDS))
        case _:
            from nacre.cli.help import format_help

            write_out(format_help(), to=2)
            return FailureCodes().error


def _print_error(error: Exception, *, failed: int, as_json: bool) -> int:
    from nacre.errors import AccessUnavailable, InvalidRequest, NacreError

    if not isinstance(error, NacreError):  # a bug of ours: exit with a code that no command could have
        import traceback

        traceback.print_exception(error)
        return failed
    if not as_json:
        notice(str(error))
    elif isinstance(error, InvalidRequest):
        write_json({"error": {"code": error.code, "message": error.message, "field": error.field, "hint": error.hint}})
    else:
        name = type(error).__name__
        code = "".join("_" + letter.lower() if letter.isupper() else letter for letter in name).lstrip("_")
        write_json({"error": {"code": code, "message": str(error), "field": None, "hint": ""}})
    return EXIT_REFUSED if isinstance(error, AccessUnavailable) else failed


def _occupy_standard_streams() -> None:
    """Open `/dev/null` on each standard stream that is closed at start-up. Otherwise the next file opened would get
    that file descriptor and receive the command's output. Opened in the wrong direction, so that reading or writing
    fails as it should."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if fd else os.O_WRONLY)
            os.set_inheritable(fd, True)
