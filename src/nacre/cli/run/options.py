"""Parses the arguments after `nacre run` into `RunArguments`. Looks at the arguments only."""

from __future__ import annotations

import argparse
from typing import NoReturn, cast

from nacre.base import units
from nacre.cli.common.messages import write_out
from nacre.cli.common.parser import raw_text
from nacre.cli.common.usage import UsageError, nearest, quote_words

_DESCRIPTION = """\
Run a shell command with bash, supervised. Its output passes through unchanged; on a terminal
it is shown in a panel instead, with escape sequences made harmless (--plain: unchanged).
"""
_EPILOG = """\
exit codes:
  the command's own; 128+n killed by signal n; 124 timed out; 125 nacre itself failed; 126 refused;
  137 also for a limit that was exceeded;
  75 keeps running as a task (--yield-after); with --background 0 it runs, else as above: it ended at once;
  130 Ctrl-C (kills the whole process tree; a second one does not wait for that)

With --background only the id of the task is printed on stdout; if it ended at once, its output is on
stderr. List tasks with `nacre tasks`, read them with `nacre output`, wait for them with `nacre wait`,
kill them with `nacre kill`:

  id=$(nacre run --background 'make -j8') && nacre wait "$id"
  nacre run --yield-after 20 'npm test'
  nacre run --detach 'redis-server & sleep 1; redis-cli ping'

With --session, directory and exported variables carry over to the next call with the same NAME. They are
kept, readable by you alone, in nacre/sessions/NAME.json of your state directory ($XDG_STATE_HOME, or
~/.local/state); remove that file to forget the session. Calls of one session run one at a time. Each --access
has a separate session of that name.
"""


class RunArguments(argparse.Namespace):
    """Options of one `nacre run`."""

    command: str
    timeout: float | None
    mode: str
    cwd: str | None
    env: list[tuple[str, str]]
    clear_env: bool
    pass_env: list[str]
    login_env: bool
    stdin: str | None
    merge: bool
    description: str
    output_dir: str | None
    access: str | None
    """None, here and below: as configured."""
    network: bool | str | tuple[int, ...] | None
    unix_sockets: bool
    writable: list[str]
    protect: list[str]
    unprotect: list[str]
    hide: list[str]
    strict: bool
    allow_partial: bool
    memory: int | None
    cpu: float | None
    processes: int | None
    file_size: int | None
    open_files: int | None
    json: bool
    plain: bool
    view: str | None
    """None: depends on whether stdout and stderr are terminals."""
    session: str | None
    profile: str | None
    engine: str | None
    image: str | None
    no_config: bool
    yes: bool
    background: bool
    open_stdin: bool
    yield_after: float | None
    detach: bool
    input: str | bytes | None = None
    """Standard input for the command: `stdin`, with `-` replaced by the contents of ours."""


class Parser(argparse.ArgumentParser):
    """Parser that raises UsageError instead of exiting with 2, a code that a command may use itself."""

    def error(self, message: str) -> NoReturn:
        hint = f"Try: {self.prog} --help"
        if message.endswith("expected one argument"):
            name = message.split()[1].rstrip(":").split("/")[0]
            hint = f"A value that begins with '-' is written {name}=VALUE."
        raise UsageError(message[:1].upper() + message[1:] + ".", hint)

    def print_help(self, file: object = None) -> None:  # noqa: ARG002
        write_out(self.format_help())


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Formatter with a fixed width: argparse takes longer to query the terminal than for all the rest."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


def parse(words: list[str]) -> RunArguments:
    """Parse and check the arguments. Raise UsageError if they are invalid."""
    parser = _parser()
    found, extra = parser.parse_known_args(words, RunArguments())
    texts = cast("list[str]", found.command)
    start = words.index(texts[0]) if texts else len(words)
    if extra and extra[0].startswith("-") and extra[0] in words[:start]:
        raise _unknown_option(extra[0])
    if len(texts) + len(extra) > 1:
        given = words[start:] if extra else texts
        raise UsageError(
            f"The command must be one argument, got {len(given)}.",
            f"Quote it: nacre run {quote_words(given)}",
            field="command",
        )
    if not texts:
        raise UsageError("The command is missing.", "Give it as one argument: nacre run 'ls -la'", field="command")
    found.command = raw_text(texts[0])
    if found.command == found.stdin == "-":
        raise UsageError("Standard input cannot be both the command and its input.", field="stdin")
    _check_task(found)
    _settle_view(found)
    return found


def _settle_view(found: RunArguments) -> None:
    asked = {name for name, given in (("json", found.json), ("plain", found.plain)) if given}
    asked |= {found.view} if found.view else set()
    if len(asked) > 1:
        raise UsageError("--json, --plain and --view exclude each other.", field="view")
    found.view = next(iter(asked), None)
    found.json, found.plain = found.view == "json", found.view == "plain"


def _check_task(found: RunArguments) -> None:
    if found.background and found.yield_after is not None:
        raise UsageError("--yield-after has no effect with --background, which starts a task at once.")
    if found.background and found.detach:
        raise UsageError("--detach has no effect with --background, whose tasks keep running anyway.")
    if found.open_stdin and not found.background:
        raise UsageError("--open-stdin needs --background: `nacre write` then writes to the task.")
    if found.open_stdin and found.stdin is not None:
        raise UsageError("--open-stdin and --stdin exclude each other.", "Write it later: nacre write ID TEXT")


def _parser() -> Parser:
    parser = Parser(
        prog="nacre run",
        usage="nacre run [options] 'command'",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("command", nargs="*", metavar="'command'", help="shell text, as one argument; - reads it from stdin")
    add("--timeout", type=_seconds, metavar="SECONDS", help="kill it, with everything it started, after that time")
    add("--mode", choices=("default", "slow"), default="default", help="which timeout applies without --timeout")
    add("--cwd", metavar="DIR", help="where to run it (default: here)")
    add("--env", type=_assignment, action="append", default=[], metavar="NAME=VALUE", help="set a variable")
    add("--clear-env", action="store_true", help="inherit no variables")
    add(
        "--pass-env",
        action="append",
        default=[],
        metavar="NAME",
        help="pass on a variable that looks like a secret (globs too: 'AWS_*')",
    )
    add("--login-env", action="store_true", help="inherit the variables of your login shell instead of these")
    add("--stdin", metavar="TEXT", help="its standard input; - reads nacre's own to EOF (default: empty)")
    add("--merge", action="store_true", help="stdout and stderr as one stream, in exact order")
    add("--description", default="", metavar="TEXT", help="its purpose; never interpreted")
    add(
        "--output-dir",
        metavar="DIR",
        help="keep long output in a file here: if a view truncates it, or over a megabyte",
    )
    add("--json", action="store_true", help="print one JSON object at the end, and nothing before")
    add("--plain", action="store_true", help="unchanged bytes, also to a terminal, with all escape sequences")
    add(
        "--view",
        choices=_VIEWS,
        metavar="|".join(_VIEWS),
        help="panel: for a person; stream: as it comes, between rules; model: for a model",
    )
    add("--session", metavar="NAME", help="keep directory and exported variables for the next call")
    add("--profile", metavar="NAME", help="one of `nacre profiles`; with --view model, its answer")
    add("--no-config", action="store_true", help="ignore the configuration (see: nacre config)")
    add("--engine", metavar="NAME", help="where it runs: local (default), bwrap, podman, docker or ray")
    add("--image", metavar="IMAGE", help="for podman and docker: image of the container")
    add("--yes", action="store_true", help="run it even if the checker would ask first; not if it refuses")
    _add_tasks(parser)
    _add_confinement(parser)
    _add_limits(parser)
    return parser


def _add_tasks(parser: Parser) -> None:
    group = parser.add_argument_group("background tasks", "A task outlives this call and the process that started it.")
    add = group.add_argument
    add("--background", action="store_true", help="start it as a task and print its id; no timeout but --timeout")
    add("--open-stdin", action="store_true", help="with --background: keep stdin open for `nacre write`")
    add(
        "--yield-after",
        type=_seconds,
        metavar="SECONDS",
        help="after that, it keeps running as a task, and this call exits with 75",
    )
    add("--detach", action="store_true", help="processes it leaves running become a task, and are not killed")


def _add_confinement(parser: Parser) -> None:
    group = parser.add_argument_group("what it may do", "The kernel enforces it; if it cannot, nothing is run.")
    add = group.add_argument
    add(
        "--access",
        choices=("unrestricted", "workspace", "restricted"),
        help="restricted: no writes, no network; workspace: writes in its directory",
    )
    add(
        "--network",
        type=_network,
        metavar="on|loopback|PORT,…",
        help="for workspace, which has no network by default",
    )
    add("--unix-sockets", action="store_true", help="for workspace: including those of docker and systemd")
    add("--writable", action="append", default=[], metavar="DIR", help="for workspace: may be written as well")
    add("--protect", action="append", default=[], metavar="PATH", help="for workspace: read-only")
    add(
        "--unprotect",
        action="append",
        default=[],
        metavar="NAME",
        help="for workspace: protected names to make writable, such as AGENTS.md",
    )
    add("--hide", action="append", default=[], metavar="PATH", help="cannot be read")
    add("--strict", action="store_true", help="for restricted: no private TMPDIR either")
    add("--allow-partial", action="store_true", help="run it with what this kernel can enforce")


def _add_limits(parser: Parser) -> None:
    group = parser.add_argument_group(
        "resource limits", "For all its processes together: if it exceeds one of the first three, it is killed."
    )
    add = group.add_argument
    add("--memory", type=_size, metavar="SIZE", help="such as 512M or 4G")
    add("--cpu", type=float, metavar="SECONDS", help="seconds of CPU time")
    add("--processes", type=int, metavar="N", help="at once")
    add("--file-size", type=_size, metavar="SIZE", help="of any one file")
    add("--open-files", type=int, metavar="N", help="of each process")


def _size(word: str) -> int:
    size = units.parse_size(word)
    if size is None:
        raise argparse.ArgumentTypeError(f"{word!r} is not a size such as 512M or 4G")
    return size


def _network(word: str) -> bool | str | tuple[int, ...]:
    if word in ("on", "off"):
        return word == "on"
    if word == "loopback":
        return word
    try:
        return tuple(int(port) for port in word.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is neither on, off, loopback nor ports such as 443,80") from None


def _seconds(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        pass
    meant = units.parse_duration(word)
    hint = "" if meant is None else f"; write {meant:g}"
    raise argparse.ArgumentTypeError(f"{word!r} is not a number of seconds{hint}")


def _assignment(word: str) -> tuple[str, str]:
    name, equals, value = raw_text(word).partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"write {name}=VALUE; to let {name} through from here: --pass-env {name}")
    return name, value


_VIEWS = ("panel", "stream", "plain", "json", "model")
_NO_OPTIONS = ("command", "input")


def _unknown_option(word: str) -> UsageError:
    name = word.partition("=")[0]
    near = nearest(
        name, ("--" + field.replace("_", "-") for field in RunArguments.__annotations__ if field not in _NO_OPTIONS)
    )
    return UsageError(f"Unknown option: {name}.", f"Did you mean: {near}" if near else "Try: nacre run --help")
