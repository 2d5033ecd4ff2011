"""`nacre schema`: the tool definition of a profile, as an API or a protocol takes it."""

from __future__ import annotations

import json
from typing import cast

from nacre.cli.lean import without_ssl
from nacre.cli.speak import put
from nacre.cli.usage import UsageError
from nacre.cli.words import sort_out
from nacre.profiles import named
from nacre.schema import DIALECTS

_HELP = f"""\
usage: nacre schema [options]     the tool for a model: its name, what it is told, what it takes

  --profile NAME     one of `nacre profiles` (default: default)
  --for WHICH        {", ".join(DIALECTS)} (default: anthropic); json is the bare schema of its input
  --access MODE      unrestricted, workspace or restricted: the description says what commands may do then
  --cwd DIR          the working directory that the description names (default: here)

One JSON object goes to stdout. exit codes: 0; 125 there is no such profile, or nacre itself failed.
"""


def schema(words: list[str]) -> int:
    asked = sort_out("schema", words, flags=(), valued=("--profile", "--for", "--access", "--cwd"), takes=(0, 0))
    if "--help" in asked:
        put(_HELP)
        return 0
    dialect = asked.last("--for") or "anthropic"
    if dialect not in DIALECTS:
        raise UsageError(f"There is no --for {dialect}.", f"Use one of {', '.join(DIALECTS)}.", field="for")
    with without_ssl():
        from nacre.tool import Bash
        from nacre.types import Access, ToolContext
    bash = Bash(named(asked.last("--profile") or "default"))
    ctx = ToolContext(working_dir=asked.last("--cwd"), access=cast("Access", asked.last("--access") or "unrestricted"))
    put(json.dumps(bash.definition(ctx, dialect=dialect), ensure_ascii=False, indent=2) + "\n")
    return 0
