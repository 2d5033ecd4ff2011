"""Entry point of the command line: dispatches `nacre run`, `check`, `tasks` and the other commands.

Takes the arguments and returns the exit code. Each command's modules are imported on dispatch: start-up time is mostly
import time. Every exception that nacre raises on purpose is caught here and becomes a line on stderr (with `--json`, a
JSON object on stdout) and an exit code of nacre's.
"""

from __future__ import annotations

import os
import sys

from nacre.cli.common.exit_codes import (
    EXIT_BLOCK,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_NO_VERDICT,
    EXIT_REFUSED,
    EXIT_SIGPIPE,
)
from nacre.cli.common.messages import WriteFailed, notice, write_json, write_out

TYPE_CHECKING = False  # as in `nacre`: importing `typing` would take as long as the rest of `nacre --version`
if TYPE_CHECKING:
    from collections.abc import Sequence


_HELP = """\
usage: nacre run [options] 'command'     run a shell command, supervised
       nacre check [options] 'command'   may it run? allow, ask or refuse; runs nothing
       nacre explain 'command'           what it would run, and the checker's verdict
       nacre rules [ID]                  what the checker looks for, and why
       nacre hook                        check the commands of Claude Code, Codex, Gemini CLI and Cursor
       nacre hook install AGENT          add the hook to the agent's settings
       nacre doctor [--json]             what this machine supports
       nacre config [--json]             what is configured here, and where each value came from

       nacre run --background 'command'  start a background task
       nacre tasks [--all] [--watch]     list running tasks, or all
       nacre output [-f] ID              what a task has printed
       nacre wait ID…                    until tasks end, print a line, listen on a port or go quiet
       nacre kill ID…                    kill tasks and every process they started
       nacre write ID TEXT               write to the standard input of a task
       nacre clean                       remove tasks that have ended

       nacre audit [-f]                  what was run, refused or failed, if NACRE_AUDIT=1 was set
       nacre profiles                    compare the variants of the tool
       nacre schema [--profile NAME]     the tool definition for a model API
       nacre mcp                         serve the tool over MCP
       nacre --version
       nacre COMMAND --help              the options of one command

nacre runs shell commands for AI agents: each is checked before it runs, output passes through unchanged,
every process has an owner, and no process outlives its command unnoticed.

exit codes of `nacre run`: the command's own; 128+n killed by signal n; 75 keeps running as a task; 124 timed out;
125 nacre itself failed; 126 refused; 130 Ctrl-C. Of `nacre check` and `explain`: 0 allow; 1 ask;
2 refuse; 3 nacre itself failed. `nacre COMMAND --help` has those of the others.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Without `argv`, take it from `sys.argv` and exit the process."""
    if argv is not None:
        return _run_command(list(argv), own=False)
    code = _run_command(sys.argv[1:], own=True)
    os._exit(code)  # nothing of ours is buffered, and interpreter shutdown takes time


def _run_command(words: list[str], *, own: bool) -> int:
    _occupy_standard_streams()
    try:
        try:
            return _dispatch(words, own=own)
        except (BrokenPipeError, WriteFailed):
            raise
        except Exception as error:
            return _print_error(error, failed=_error_code(words), as_json=_as_json(words))
    except KeyboardInterrupt:
        return EXIT_BLOCK if _is_hook(words) else EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_BLOCK if _is_hook(words) else EXIT_SIGPIPE
    except WriteFailed as error:
        notice(f"Cannot write the output: {error}.")
        return _error_code(words)


def _as_json(words: list[str]) -> bool:
    if not {"--json", "--jsonl", "--view=json"}.isdisjoint(words):
        return True
    return "--view" in words and words[words.index("--view") + 1 :][:1] == ["json"]


def _is_hook(words: list[str]) -> bool:
    return words[:1] == ["hook"] and words[1:2] != ["install"]


def _error_code(words: list[str]) -> int:
    if _is_hook(words):
        return EXIT_BLOCK
    return EXIT_NO_VERDICT if words[:1] in (["check"], ["explain"], ["rules"]) else EXIT_ERROR


def _dispatch(words: list[str], *, own: bool) -> int:
    match words:
        case ["run", *rest]:
            from nacre.cli.run.command import run

            return run(rest, own=own)
        case ["check", *rest]:
            from nacre.cli.check.command import check

            return check(rest)
        case ["hook", *rest]:
            from nacre.cli.serve.hook import hook

            return hook(rest)
        case ["explain", *rest]:
            from nacre.cli.check.explain import explain

            return explain(rest)
        case ["rules", *rest]:
            from nacre.cli.check.rules import rules

            return rules(rest)
        case ["doctor", *rest]:
            from nacre.cli.info.doctor import doctor

            return doctor(rest)
        case ["config", *rest]:
            from nacre.cli.info.config import config

            return config(rest)
        case ["audit", *rest]:
            from nacre.cli.info.audit import audit

            return audit(rest)
        case ["profiles", *rest]:
            from nacre.cli.info.profiles import profiles

            return profiles(rest)
        case ["schema", *rest]:
            from nacre.cli.info.schema import schema

            return schema(rest)
        case ["mcp", *rest]:
            from nacre.cli.serve.mcp import mcp

            return mcp(rest)
        case ["tasks" | "output" | "wait" | "kill" | "write" | "clean" as name, *rest]:
            return _about_tasks(name, rest)
        case ["--version" | "-V", *_]:
            from nacre import __version__

            write_out(f"nacre {__version__}\n")
            return 0
        case ["--help" | "-h" | "help", *_]:
            write_out(_HELP)
            return 0
        case [word, *rest]:
            from nacre.cli.common.usage import unknown_command

            raise unknown_command(word, rest)
        case _:
            write_out(_HELP, to=2)
            return EXIT_ERROR


def _about_tasks(name: str, rest: list[str]) -> int:
    match name:
        case "tasks":
            from nacre.cli.tasks.list import tasks

            return tasks(rest)
        case "output":
            from nacre.cli.tasks.output import output

            return output(rest)
        case "wait":
            from nacre.cli.tasks.wait import wait

            return wait(rest)
        case "kill":
            from nacre.cli.tasks.kill import kill

            return kill(rest)
        case "write":
            from nacre.cli.tasks.write import write

            return write(rest)
        case _:
            from nacre.cli.tasks.clean import clean

            return clean(rest)


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
