"""The options of `nacre run`. Loads argparse: only a call with options needs it."""

from __future__ import annotations

from nacre.cli.common.parser import InvalidOptionValue, OptionParser, choice, integer, seconds, size

_VIEWS = ("panel", "stream", "plain", "json", "model")
_MODES = ("default", "slow")
_ACCESS_MODES = ("unrestricted", "workspace", "restricted")


def add_options(parser: OptionParser) -> None:
    """Declare the options, in groups."""
    parser.add_operand("'command'", "shell text, as one argument; - reads it from stdin")
    _add_general(parser)
    _add_views(parser)
    _add_tasks(parser)
    _add_confinement(parser)
    _add_limits(parser)


def _add_general(parser: OptionParser) -> None:
    add = parser.add_argument
    add("--timeout", type=seconds, metavar="SECONDS", help="kill it, with everything it started, after that time")
    add("--mode", type=choice(_MODES), metavar=_list_choices(_MODES), help="which timeout applies without --timeout")
    add("--cwd", metavar="DIR", help="where to run it (default: here)")
    add("--env", type=_parse_variable, action="append", metavar="NAME=VALUE", help="set a variable")
    add("--clear-env", action="store_true", help="inherit no variables")
    add(
        "--pass-env",
        action="append",
        metavar="NAME",
        help="pass on a variable that looks like a secret (globs too: 'AWS_*')",
    )
    add("--login-env", action="store_true", help="inherit the variables of your login shell instead of these")
    add("--stdin", metavar="TEXT", help="its standard input; - reads nacre's own to EOF (default: empty)")
    add("--merge", action="store_true", help="stdout and stderr as one stream, in exact order")
    add("--description", metavar="TEXT", help="its purpose; never interpreted")
    add("--session", metavar="NAME", help="keep directory and exported variables for the next call")
    add("--profile", metavar="NAME", help="one of `nacre profiles`; with --view model, its answer")
    add("--no-config", action="store_true", help="ignore the configuration (see: nacre config)")
    add("--engine", metavar="NAME", help="where it runs: local (default), bwrap, podman, docker or ray")
    add("--image", metavar="IMAGE", help="for podman and docker: image of the container")
    add("--yes", action="store_true", help="run it even if the checker would ask first; not if it refuses")


def _add_views(parser: OptionParser) -> None:
    add = parser.add_argument
    add(
        "--output-dir",
        metavar="DIR",
        help="keep long output in a file here: if a view truncates it, or over a megabyte",
    )
    add("--json", action="store_true", help="print one JSON object at the end, and nothing before")
    add("--plain", action="store_true", help="unchanged bytes, also to a terminal, with all escape sequences")
    add(
        "--view",
        type=choice(_VIEWS),
        metavar="|".join(_VIEWS),
        help="panel: for a person; stream: as it comes, between rules; model: for a model",
    )


def _add_tasks(parser: OptionParser) -> None:
    group = parser.add_argument_group("background tasks", "A task outlives this call and the process that started it.")
    add = group.add_argument
    add("--background", action="store_true", help="start it as a task and print its id; no timeout but --timeout")
    add("--open-stdin", action="store_true", help="with --background: keep stdin open for `nacre write`")
    add(
        "--yield-after",
        type=seconds,
        metavar="SECONDS",
        help="after that, it keeps running as a task, and this call exits with 75",
    )
    add("--detach", action="store_true", help="processes it leaves running become a task, and are not killed")


def _add_confinement(parser: OptionParser) -> None:
    group = parser.add_argument_group("what it may do", "The kernel enforces it; if it cannot, nothing is run.")
    add = group.add_argument
    add(
        "--access",
        type=choice(_ACCESS_MODES),
        metavar=_list_choices(_ACCESS_MODES),
        help="restricted: no writes, no network; workspace: writes in its directory",
    )
    add(
        "--network",
        type=_parse_network,
        metavar="on|loopback|PORT,…",
        help="for workspace, which has no network by default",
    )
    add("--unix-sockets", action="store_true", help="for workspace: including those of docker and systemd")
    add("--writable", action="append", metavar="DIR", help="for workspace: may be written as well")
    add("--protect", action="append", metavar="PATH", help="for workspace: read-only")
    add(
        "--unprotect",
        action="append",
        metavar="NAME",
        help="for workspace: protected names to make writable, such as AGENTS.md",
    )
    add("--hide", action="append", metavar="PATH", help="cannot be read")
    add("--strict", action="store_true", help="for restricted: no private TMPDIR either")
    add("--allow-partial", action="store_true", help="run it with what this kernel can enforce")


def _add_limits(parser: OptionParser) -> None:
    group = parser.add_argument_group(
        "resource limits", "For all its processes together: if it exceeds one of the first three, it is killed."
    )
    add = group.add_argument
    add("--memory", type=size, metavar="SIZE", help="such as 512M or 4G")
    add("--cpu", type=seconds, metavar="SECONDS", help="seconds of CPU time")
    add("--processes", type=integer, metavar="N", help="at once")
    add("--file-size", type=size, metavar="SIZE", help="of any one file")
    add("--open-files", type=integer, metavar="N", help="of each process")


def _list_choices(values: tuple[str, ...]) -> str:
    return "{" + ",".join(values) + "}"


def _parse_network(word: str) -> bool | str | tuple[int, ...]:
    if word in ("on", "off"):
        return word == "on"
    if word == "loopback":
        return word
    try:
        return tuple(int(port) for port in word.split(","))
    except ValueError:
        raise InvalidOptionValue(word, "Write on, off, loopback or ports such as 443,80.") from None


def _parse_variable(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise InvalidOptionValue(word, f"Write {name}=VALUE; to let {name} through from here: --pass-env {name}.")
    return name, value
