"""bash text → Script: what would run, as far as it can be known. Touches nothing."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.shell import builtins, printers, programs, shells, wrappers
from nacre.shell.command import Command, Opened, Script
from nacre.shell.parse import parse
from nacre.shell.state import State, Value
from nacre.shell.text import clean
from nacre.shell.walk import Walker
from nacre.shell.words import TooDeep

__all__ = ["Command", "Opened", "Script", "read"]

_FOLLOWERS = {
    **printers.FOLLOWERS,
    **programs.FOLLOWERS,
    **wrappers.FOLLOWERS,
    **shells.FOLLOWERS,
    **builtins.FOLLOWERS,
}
_ASSUMED = {"PATH": "/usr/local/bin:/usr/bin:/bin", "SHELL": "/bin/bash", "BASH": "/bin/bash", "TERM": "dumb"}


def read(
    text: str, *, cwd: str, home: str, env: Mapping[str, str] | None = None, stdin: str | None = None
) -> Script:
    """Everything that `text` would run. Values in `env` are known words."""
    script = Script(clean(text))
    variables: dict[str, list[Value]] = {name: [value] for name, value in _ASSUMED.items()}
    variables["HOME"] = [home]
    for name, value in (env or {}).items():
        variables[name] = [clean(value)]
    state = State(cwd, home, variables)
    walker = Walker(script, _FOLLOWERS)
    try:
        block, script.broken = parse(script.text)
        walker.whole(block, state, stdin)
    except (TooDeep, RecursionError):
        script.closed = "it is nested too deeply"
    return script
