"""Arguments of `nacre run`: the options, and the checks that need several of them."""

from __future__ import annotations

from nacre.cli.common.arguments import Arguments, OptionGroup
from nacre.cli.common.usage import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from nacre.cli.common.parser import OptionParser

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


class RequestOptions(OptionGroup):
    """Options of the request: how the command runs."""

    description = ""
    mode: Literal["default", "slow"] = "default"
    timeout: float | None = None
    yield_after: float | None = None
    background = False
    detach = False
    cwd: str | None = None
    env: list[tuple[str, str]] | None = None
    clear_env = False
    merge = False
    stdin: str | None = None
    input: str | bytes | None = None
    """Standard input for the command: `stdin`, with `-` replaced by the contents of ours."""
    open_stdin = False


class ConfigOptions(OptionGroup):
    """Options that override settings; None and False: as configured."""

    profile: str | None = None
    access: str | None = None
    network: bool | str | tuple[int, ...] | None = None
    unix_sockets = False
    writable: list[str] | None = None
    protect: list[str] | None = None
    unprotect: list[str] | None = None
    hide: list[str] | None = None
    allow_partial = False
    pass_env: list[str] | None = None
    no_config = False


class ContextOptions(OptionGroup):
    """Options of the context that are no settings."""

    strict = False
    login_env = False
    yes = False


class LimitOptions(OptionGroup):
    """Resource limits; None: as configured."""

    memory: int | None = None
    cpu: float | None = None
    processes: int | None = None
    file_size: int | None = None
    open_files: int | None = None


class DisplayOptions(OptionGroup):
    """Options of the view."""

    output_dir: str | None = None
    json = False
    plain = False
    view: str | None = None
    """None: depends on whether stdout and stderr are terminals."""


class RunArguments(Arguments):
    """Arguments of one `nacre run`."""

    COMMAND = "run"
    USAGE = (("[options] 'command'", ""),)
    DESCRIPTION = _DESCRIPTION
    EPILOG = _EPILOG
    MAX_OPERANDS = 1
    TAKES_COMMAND = True
    HELP_ROW = "show this help message and exit"

    command: str
    session: str | None = None
    engine: str | None = None
    image: str | None = None

    def __init__(self) -> None:
        self.request = RequestOptions()
        self.config = ConfigOptions()
        self.context = ContextOptions()
        self.limits = LimitOptions()
        self.display = DisplayOptions()

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        from nacre.cli.run.add_options import add_options

        add_options(parser)


def parse(words: list[str]) -> RunArguments:
    """Parse and check the arguments. Raise UsageError if they are invalid."""
    found = RunArguments.parse(words)
    if not found.operands:
        raise UsageError("The command is missing.", "Give it as one argument: nacre run 'ls -la'", field="command")
    (found.command,) = found.operands
    if found.command == found.request.stdin == "-":
        raise UsageError("Standard input cannot be both the command and its input.", field="stdin")
    _check_task(found.request)
    _settle_view(found.display)
    return found


def _settle_view(found: DisplayOptions) -> None:
    asked = {name for name, given in (("json", found.json), ("plain", found.plain)) if given}
    asked |= {found.view} if found.view else set()
    if len(asked) > 1:
        raise UsageError("--json, --plain and --view exclude each other.", field="view")
    found.view = next(iter(asked), None)
    found.json, found.plain = found.view == "json", found.view == "plain"


def _check_task(found: RequestOptions) -> None:
    if found.background and found.yield_after is not None:
        raise UsageError("--yield-after has no effect with --background, which starts a task at once.")
    if found.background and found.detach:
        raise UsageError("--detach has no effect with --background, whose tasks keep running anyway.")
    if found.open_stdin and not found.background:
        raise UsageError("--open-stdin needs --background: `nacre write` then writes to the task.")
    if found.open_stdin and found.stdin is not None:
        raise UsageError("--open-stdin and --stdin exclude each other.", "Write it later: nacre write ID TEXT")
