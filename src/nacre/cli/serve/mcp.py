"""`nacre mcp`: serves the tool over the Model Context Protocol, on stdin and stdout or on a loopback port.

Takes over the standard streams before it loads anything that could print.
"""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from nacre.cli.common.exit_codes import EXIT_MISCONFIGURED
from nacre.cli.common.messages import notice, write_out
from nacre.cli.common.parser import ParsedArgs, int_option, parse_args
from nacre.cli.common.usage import UsageError
from nacre.errors import InvalidConfig, NacreError

if TYPE_CHECKING:
    from nacre.adapters.mcp.settings import ServerSettings

TOKEN = "NACRE_MCP_TOKEN"
_VALUED = ("--http", "--profile", "--access", "--cwd", "--allow", "--budget")
_HELP = """\
usage: nacre mcp [options]     serve the tool over the Model Context Protocol, on stdin and stdout

  --http PORT        on http://127.0.0.1:PORT/mcp instead (0: any free port); clients need the token printed
                     to stderr, or the one in NACRE_MCP_TOKEN
  --profile NAME     which tool (`nacre profiles` lists them)
  --access MODE      unrestricted, workspace or restricted: what commands may do
  --no-config        ignore the configuration (`nacre config` shows it)
  --cwd DIR          where commands start (default: here)
  --allow DIR        they may only start here or below (may be repeated)
  --budget SECONDS   maximum time of a call; longer commands keep running as tasks (default: 45)

Needs: pip install 'nacre[mcp]'. It exits with its client. exit codes: 0; 2 the configuration is invalid; 125
nacre itself failed; 126 the access cannot be enforced here.
"""


class MissingExtra(NacreError):
    """The MCP SDK is not installed."""


def mcp(words: list[str]) -> int:
    args = parse_args("mcp", words, flags=("--no-config",), valued=_VALUED, takes=(0, 0))
    if "--help" in args:
        write_out(_HELP)
        return 0
    if not _is_installed():
        raise MissingExtra("`nacre mcp` needs the MCP SDK, version 2.3 or newer: pip install 'nacre[mcp]'")
    port = int_option(args, "--http")
    if port is not None and not 0 <= port < 65536:
        raise UsageError(f"--http {port} is not a port.", "Give one from 0 to 65535.", field="http")
    try:
        settings = settings_from(args)
    except InvalidConfig as error:
        notice(str(error))
        return EXIT_MISCONFIGURED
    token = _take_token()
    if port is None:
        from nacre.adapters.mcp.transport.private_stdio import take_standard_streams

        wire = take_standard_streams()
        import anyio

        from nacre.adapters.mcp.transport import stdio

        anyio.run(stdio.serve, settings, wire)
    else:
        _over_http(settings, port, token)
    return 0


def settings_from(args: ParsedArgs) -> ServerSettings:
    """Return the server's settings: the configuration of the working directory, overridden by the options."""
    from nacre.adapters.mcp.settings import CALL_BUDGET_S, ServerSettings
    from nacre.config import load
    from nacre.observe import observers_from_config

    given = {"profile": args.last("--profile"), "access": args.last("--access")}
    config = load(
        args.last("--cwd"),
        arguments={name: value for name, value in given.items() if value is not None},
        files="--no-config" not in args,
    )
    return ServerSettings(
        profile=config.profile,
        context=config.context(
            working_dir=args.last("--cwd"),
            allowed_paths=tuple(map(os.path.abspath, args.values.get("--allow", ()))),
        ),
        observers=observers_from_config(config.get("audit")),
        budget=_seconds(args.last("--budget"), CALL_BUDGET_S),
    )


def _take_token() -> str:
    """Return the token given in the environment ('' if none), and remove it there and from `/proc`: no command may see
    it."""
    from nacre.base.hide_from_proc import conceal_variable

    given = os.environ.pop(TOKEN, "")
    if given:
        conceal_variable(TOKEN)
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


def _seconds(word: str | None, default: float) -> float:
    if word is None:
        return default
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"--budget {word!r} is not a number of seconds.", "Give seconds above 0.", field="budget")
    return value
