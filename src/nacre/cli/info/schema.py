"""`nacre schema`: prints a profile's tool definition in the format of an API."""

from __future__ import annotations

import json

from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import write_out
from nacre.cli.common.parser import parse_args
from nacre.cli.common.usage import UsageError
from nacre.config import load
from nacre.profiles import profile_named
from nacre.toolcall.schema import DIALECTS

_HELP = f"""\
usage: nacre schema [options]     the tool for a model: name, description and input schema

  --profile NAME     one of `nacre profiles` (default: what is configured, or default)
  --for WHICH        {", ".join(DIALECTS)} (default: anthropic); json is the bare schema of its input
  --access MODE      unrestricted, workspace or restricted: the description says what commands may do
                     (default: what is configured)
  --cwd DIR          the working directory that the description names (default: here)
  --no-config        ignore the configuration (see: nacre config)

One JSON object goes to stdout. exit codes: 0; 125 unknown profile, or nacre itself failed.
"""


def schema(words: list[str]) -> int:
    args = parse_args(
        "schema", words, flags=("--no-config",), valued=("--profile", "--for", "--access", "--cwd"), takes=(0, 0)
    )
    if "--help" in args:
        write_out(_HELP)
        return 0
    dialect = args.last("--for") or "anthropic"
    if dialect not in DIALECTS:
        raise UsageError(f"Unknown value for --for: {dialect}.", f"Use one of {', '.join(DIALECTS)}.", field="for")
    with without_ssl():
        from nacre.bash import Bash
    cwd = args.last("--cwd")
    given = {"profile": _profile(args.last("--profile")), "access": args.last("--access")}
    config = load(
        cwd,
        arguments={name: value for name, value in given.items() if value is not None},
        files="--no-config" not in args,
    )
    bash, ctx = Bash(config.profile), config.context(working_dir=cwd)
    write_out(json.dumps(bash.definition(ctx, dialect=dialect), ensure_ascii=False, indent=2) + "\n")
    return 0


def _profile(name: str | None) -> str | None:
    """Return the profile's name. Raise InvalidRequest, with the known names, if there is no such profile."""
    return None if name is None else profile_named(name).name
