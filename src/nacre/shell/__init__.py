"""Analyse bash source without running it or touching the machine: `read` returns a `Script`."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.shell.command import Command, Redirection, Script
from nacre.shell.env_code import runs_code
from nacre.shell.interpreter.interpreter import Interpreter
from nacre.shell.interpreter.state import State, VariableAttributes
from nacre.shell.symbolic import remove_markers
from nacre.shell.syntax.parser import parse
from nacre.shell.syntax.words import TooDeep
from nacre.shell.values.values import Value
from nacre.shell.values.variables import Variables

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
    """Parse bash source and find every command that it would run, without running anything.

    `env`: variables set for this command. Their values are known; values that are code (`BASH_ENV`) are followed.
    `inherited`: the inherited environment. Its values are known, but not treated as code.
    `stdin`: the standard input; None if it is the caller's.

    Syntax errors and exceeded limits are reported in the `Script`, not raised.
    """
    script = Script(remove_markers(text))
    variables = Variables()
    variables.own = {**_ASSUMED}
    for name, value in inherited.items() if inherited else ():
        variables.own[name] = [remove_markers(value)]
    variables["HOME"] = [home]
    variables["HISTFILE"] = [f"{home}/.bash_history"]
    interpreter = Interpreter(script)
    state = State(cwd, home, variables)
    state.attributes = VariableAttributes(exported=frozenset((*variables.own, *(env or ()))))
    try:
        for name, value in env.items() if env else ():
            variables[name] = [remove_markers(value)]
            if runs_code(name):
                script.env_runs_code = True
                interpreter.scripts.run_env_code(name, remove_markers(value), state)
        script.block, script.syntax_error = parse(script.text)
        interpreter.interpret(script.block, state, None if stdin is None else remove_markers(stdin))
    except (TooDeep, RecursionError):
        script.gave_up = "it is nested too deeply"
    except MemoryError:
        script.gave_up = "there is not enough memory to follow it"
    finally:
        interpreter.close()
    return script
