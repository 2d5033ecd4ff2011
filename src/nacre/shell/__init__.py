"""bash text → Script: what would run, as far as it can be known. Touches nothing."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.shell.command import Command, Redirection, Script
from nacre.shell.env_code import runs_code
from nacre.shell.interpreter.interpreter import Interpreter
from nacre.shell.interpreter.state import State, Variables
from nacre.shell.registry import HANDLERS
from nacre.shell.symbolic import remove_markers
from nacre.shell.syntax.parser import parse
from nacre.shell.syntax.words import TooDeep
from nacre.shell.values.values import Value

__all__ = ["Command", "Redirection", "Script", "read"]

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
    script = Script(remove_markers(text))
    variables = Variables()
    variables.own = {**_ASSUMED}
    for name, value in inherited.items() if inherited else ():
        variables.own[name] = [remove_markers(value)]
    variables["HOME"] = [home]
    variables["HISTFILE"] = [f"{home}/.bash_history"]
    walker = Interpreter(script, HANDLERS)
    state = State(cwd, home, variables)
    state.exported = frozenset((*variables.own, *(env or ())))
    try:
        for name, value in env.items() if env else ():
            variables[name] = [remove_markers(value)]
            if runs_code(name):
                script.env_runs_code = True
                walker.run_env_code(name, remove_markers(value), state)
        script.block, script.syntax_error = parse(script.text)
        walker.interpret(script.block, state, None if stdin is None else remove_markers(stdin))
    except (TooDeep, RecursionError):
        script.gave_up = "it is nested too deeply"
    except MemoryError:
        script.gave_up = "there is not enough memory to follow it"
    return script
