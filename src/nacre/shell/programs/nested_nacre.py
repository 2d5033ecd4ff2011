"""nacre as a command of a script. Its command is checked like any other: otherwise `nacre run --yes` would bypass every
rule that prompts."""

from __future__ import annotations

from nacre.shell.command import Command
from nacre.shell.interpreter.commands import ProgramHandler
from nacre.shell.interpreter.interpreter import Interpreter
from nacre.shell.interpreter.state import State
from nacre.shell.options import OptionSpec
from nacre.shell.symbolic import UNKNOWN

_RUN = OptionSpec(
    "",
    "timeout mode cwd env pass-env stdin description output-dir view session profile yield-after access network "
    "writable protect hide memory cpu processes file-size open-files",
)


def _nacre(interpreter: Interpreter, command: Command, state: State) -> str:
    words = command.args
    if not words or words[0] != "run":
        return UNKNOWN
    given = _RUN.parse(words[1:])
    inner = state.fork()
    if (place := given.values("--cwd")) and place[-1]:
        inner.cwd = state.path(place[-1])
    if not given.operands:
        return UNKNOWN
    text = (command.stdin or "") if given.operands[0] == "-" else given.operands[0]
    stdin = next(iter(given.values("--stdin")), "")
    variables = [word for word in given.values("--env") if "=" in word]
    return interpreter.scripts.run_wrapped(
        command, ("env", *variables, "bash", "-c", text), inner, command.stdin if stdin == "-" else stdin
    )


HANDLERS: dict[str, ProgramHandler] = {"nacre": _nacre}
