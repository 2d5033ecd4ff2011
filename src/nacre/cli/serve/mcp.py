"""`nacre mcp`: serves the tool over the Model Context Protocol, on stdin and stdout or on a loopback port.

Takes over the standard streams before it loads anything that could print.
"""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from nacre.cli.common.arguments import Arguments
from nacre.cli.common.exit_codes import EXIT_MISCONFIGURED
from nacre.cli.common.messages import notice
from nacre.cli.common.usage import UsageError
from nacre.errors import InvalidConfig, NacreError

if TYPE_CHECKING:
    from nacre.adapters.mcp.settings import ServerSettings
    from nacre.cli.common.parser import OptionParser

TOKEN = "NACRE_MCP_TOKEN"


class MissingExtra(NacreError):
    """The MCP SDK is not installed."""


class _Arguments(Arguments):
    COMMAND = "mcp"
    USAGE = (("[options]", "serve the tool over the Model Context Protocol, on stdin and stdout"),)
    EPILOG = """\
Needs: pip install 'nacre[mcp]'. It exits with its client. exit codes: 0; 2 the configuration is invalid; 125
nacre itself failed; 126 the access cannot be enforced here.
"""

    http: int | None = None
    profile: str | None = None
    access: str | None = None
    no_config = False
    cwd: str | None = None
    allow: list[str] | None = None
    budget: float | None = None

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        add = parser.add_argument
        add(
            "--http",
            type=_parse_port,
            metavar="PORT",
            help="on http://127.0.0.1:PORT/mcp instead (0: any free port); clients need the token printed to "
            "stderr, or the one in NACRE_MCP_TOKEN",
        )
        add("--profile", metavar="NAME", help="which tool (`nacre profiles` lists them)")
        add("--access", metavar="MODE", help="unrestricted, workspace or restricted: what commands may do")
        add("--no-config", action="store_true", help="ignore the configuration (`nacre config` shows it)")
        add("--cwd", metavar="DIR", help="where commands start (default: here)")
        add("--allow", action="append", metavar="DIR", help="they may only start here or below (may be repeated)")
        add(
            "--budget",
            type=_parse_budget,
            metavar="SECONDS",
            help="maximum time of a call; longer commands keep running as tasks (default: 45)",
        )


def mcp(words: list[str]) -> int:
    args = _Arguments.parse(words)
    if not _is_installed():
        raise MissingExtra("`nacre mcp` needs the MCP SDK, version 2.3 or newer: pip install 'nacre[mcp]'")
    try:
        settings = _build_settings(args)
    except InvalidConfig as error:
        notice(str(error))
        return EXIT_MISCONFIGURED
    token = _take_token()
    if args.http is None:
        from nacre.adapters.mcp.transport.private_stdio import take_standard_streams

        wire = take_standard_streams()
        import anyio

        from nacre.adapters.mcp.transport import stdio

        anyio.run(stdio.serve, settings, wire)
    else:
        _over_http(settings, args.http, token)
    return 0


def _build_settings(args: _Arguments) -> ServerSettings:
    """Return the server's settings: the configuration of the working directory, overridden by the options."""
    from nacre.adapters.mcp.settings import CALL_BUDGET_S, ServerSettings
    from nacre.config import load
    from nacre.observe import observers_from_config

    given = {"profile": args.profile, "access": args.access}
    config = load(
        args.cwd,
        arguments={name: value for name, value in given.items() if value is not None},
        files=not args.no_config,
    )
    return ServerSettings(
        profile=config.profile,
        context=config.context(
            working_dir=args.cwd,
            allowed_paths=tuple(map(os.path.abspath, args.allow or ())),
        ),
        observers=observers_from_config(config.get("audit")),
        budget=CALL_BUDGET_S if args.budget is None else args.budget,
    )


def _take_token() -> str:
    """Return the token given in the environment ('' if none), and remove it there and from `/proc`: no command may see
    it."""
    from nacre.base.proc_memory import hide_variable

    given = os.environ.pop(TOKEN, "")
    if given:
        hide_variable(TOKEN)
    return given


def _over_http(settings: ServerSettings, port: int, given: str) -> None:
    import secrets

    import anyio

    from nacre.adapters.mcp.transport import http
    from nacre.base.frozen import replace

    token = given or secrets.token_urlsafe(32)
    settings = replace(settings, context=replace(settings.context, secrets=(*settings.context.secrets, token)))
    try:
        at = http.listen(port)
    except OSError as error:
        raise UsageError(f"Cannot use port {port}: {error.strerror}.", "Try --http 0.", field="http") from error
    notice(f"serving on http://{http.LOOPBACK}:{at.getsockname()[1]}{http.PATH}")
    notice(f"clients send: Authorization: Bearer {'$' + TOKEN if given else token}")
    anyio.run(http.serve, settings, at, token)


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec("mcp_types") is not None and importlib.util.find_spec("mcp") is not None
    except (ImportError, ValueError):
        return False


def _parse_port(word: str) -> int:
    from nacre.cli.common.parser import InvalidOptionValue

    if not (word.isascii() and word.isdigit() and len(word) < 6 and int(word) < 65536):
        raise InvalidOptionValue(word, "Give a port from 0 to 65535.")
    return int(word)


def _parse_budget(word: str) -> float:
    from nacre.cli.common.parser import InvalidOptionValue, seconds

    value = seconds(word)
    if not 0 < value < float("inf"):
        raise InvalidOptionValue(word, "Give seconds above 0.")
    return value
