"""`nacre schema`: prints a profile's tool definition in the format of an API."""

from __future__ import annotations

import json

from nacre.cli.common.arguments import Arguments
from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import write_out
from nacre.config import load
from nacre.profiles import profile_named
from nacre.toolcall.schema import DIALECTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser
    from nacre.toolcall.schema import Dialect


class _Arguments(Arguments):
    COMMAND = "schema"
    USAGE = (("[options]", "the tool for a model: name, description and input schema"),)
    EPILOG = "One JSON object goes to stdout. exit codes: 0; 125 unknown profile, or nacre itself failed."

    profile: str | None = None
    dialect: Dialect = "anthropic"
    access: str | None = None
    cwd: str | None = None
    no_config = False

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        from nacre.cli.common.parser import choice

        add = parser.add_argument
        add(
            "--profile",
            metavar="NAME",
            help="one of `nacre profiles` (default: what is configured, or default)",
        )
        add(
            "--for",
            dest="dialect",
            type=choice(DIALECTS),
            metavar="WHICH",
            help=f"{', '.join(DIALECTS)} (default: anthropic); json is the bare schema of its input",
        )
        add(
            "--access",
            metavar="MODE",
            help="unrestricted, workspace or restricted: the description says what commands may do "
            "(default: what is configured)",
        )
        add("--cwd", metavar="DIR", help="the working directory that the description names (default: here)")
        add("--no-config", action="store_true", help="ignore the configuration (see: nacre config)")


def schema(words: list[str]) -> int:
    args = _Arguments.parse(words)
    with without_ssl():
        from nacre.bash import Bash
    given = {"profile": _profile(args.profile), "access": args.access}
    config = load(
        args.cwd,
        arguments={name: value for name, value in given.items() if value is not None},
        files=not args.no_config,
    )
    bash, ctx = Bash(config.profile), config.context(working_dir=args.cwd)
    write_out(json.dumps(bash.definition(ctx, dialect=args.dialect), ensure_ascii=False, indent=2) + "\n")
    return 0


def _profile(name: str | None) -> str | None:
    """Return the profile's name. Raise InvalidRequest, with the known names, if there is no such profile."""
    return None if name is None else profile_named(name).name
