"""bash text → Script: what would run, as far as it can be known. Touches nothing."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.shell.command import Command, Opened, Script
from nacre.shell.env_code import runs_code
from nacre.shell.interpreter.interpreter import Walker
from nacre.shell.interpreter.state import State, Variables
from nacre.shell.registry import FOLLOWERS
from nacre.shell.symbolic import clean
from nacre.shell.syntax.parser import parse
from nacre.shell.syntax.words import TooDeep
from nacre.shell.values.values import Value

__all__ = ["Command", "Opened", "Script", "read"]

_ASSUMED: dict[str, list[Value]] = {
    "PATH": ["/usr/local/bin:/usr/bin:/bin"],
    "SHELL": ["/bin/bash"],
    "BASH": ["/bin/bash"],
    "TERM": ["dumb"],
}


def read(
    text: str,
    *,
    cwd: str,
    home: str,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    inherited: Mapping[str, str] | None = None,
) -> Script:
    """Everything that `text` would run. Values in `env` are known words, and some of them code; those of the
    `inherited` environment are known words only."""
    script = Script(clean(text))
    variables = Variables()
    variables.own = {**_ASSUMED}
    for name, value in inherited.items() if inherited else ():
        variables.own[name] = [clean(value)]
    variables["HOME"] = [home]
    variables["HISTFILE"] = [f"{home}/.bash_history"]
    walker = Walker(script, FOLLOWERS)
    state = State(cwd, home, variables)
    state.passed = frozenset((*variables.own, *(env or ())))
    try:
        for name, value in env.items() if env else ():
            variables[name] = [clean(value)]
            if runs_code(name):
                script.foreign = True
                walker.given(name, clean(value), state)
        script.block, script.broken = parse(script.text)
        walker.walk(script.block, state, None if stdin is None else clean(stdin))
    except (TooDeep, RecursionError):
        script.closed = "it is nested too deeply"
    except MemoryError:
        script.closed = "there is not enough memory to follow it"
    return script
