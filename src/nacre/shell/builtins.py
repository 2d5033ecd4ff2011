"""Builtins that change what is known: variables, the directory, positional parameters, aliases."""

from __future__ import annotations

import re
from itertools import pairwise

from nacre.patterns import later
from nacre.shell.command import Command
from nacre.shell.environment import runs_code
from nacre.shell.expand import Expander
from nacre.shell.many import Value, foremost
from nacre.shell.options import Shape
from nacre.shell.runner import DECLARES, OWNING, Follows, Runner
from nacre.shell.state import Alias, State
from nacre.shell.text import SOME, UNKNOWN, plain, whole

_READ = Shape("adinNptu")
_COUNT = later(r"[0-9]{1,9}")
_NAME = later(r"[A-Za-z_]\w*$", re.ASCII)


def _cd(runner: Runner, command: Command, state: State) -> str:
    state.settled = True
    operands = command.operands()
    if not operands:
        state.cwd = state.home if command.name == "cd" else SOME
    elif operands[0] == "-" or operands[0][:1] == "+" or not operands[0]:
        state.cwd = SOME if operands[0] else state.cwd
    else:
        state.cwd = state.path(operands[0])
    return ""


def _declare(runner: Runner, command: Command, state: State) -> str:
    expander = Expander(state, runner)
    flags = "".join(command.options())
    runner.spend(
        len(state.maps) + len(state.integers) + len(state.references) + len(state.exported) + len(state.passed)
    )
    references: dict[str, str] = {}
    names = {word.partition("=")[0].removesuffix("+").partition("[")[0] for word in command.args}
    names = {name for name in names if _NAME.match(name)}
    if "A" in flags:
        state.maps |= names
    if "i" in flags:
        state.integers |= names
    if "f" in flags and (command.name == "export" or "x" in flags):
        state.exported |= set(command.operands())
    elif (command.name == "export" and "n" not in flags) or "x" in flags:
        state.passed |= names
    elif command.name == "export":
        state.passed -= names
    if command.name in OWNING and "g" not in flags:
        for name in names:
            state.own(name)
    for word in command.args:
        name, equals, value = word.partition("=")
        name, _, subscript = name.removesuffix("+").partition("[")
        if not equals or name not in names:
            continue
        if "n" in flags and command.name != "export":
            expander.subscripts(value)
            references[name] = value
        elif value.startswith("(") and value.endswith(")"):
            runner.reread(value, state)
            state.set(name, tuple(value[1:-1].split()))
        else:
            if name in state.integers or subscript:
                expander.arithmetic(f"{subscript} {value}")
                expander.subscripts(value)
            state.set(name, value)
            if runs_code(name):
                runner.given(name, value, state, command)
    if references:
        state.references = {**state.references, **references}
    return ""


def _unset(runner: Runner, command: Command, state: State) -> str:
    for word in command.operands():
        if word in state.functions and not command.has("-v", "-n"):  # a variable of that name would go first
            state.functions = {name: body for name, body in state.functions.items() if name != word}
        if "[" in word:
            runner.reread(word, state)
        else:
            state.forget(word)
    return ""


def _set(runner: Runner, command: Command, state: State) -> str:
    words = list(command.args)
    if "--" in words:
        state.arguments = words[words.index("--") + 1 :]
        state.given = frozenset()
    elif words and words[0][:1] not in "-+":
        state.arguments = words
        state.given = frozenset()
    flags = "".join(word[1:] for word in words if word[:1] == "-" and word[:2] != "--")
    state.strict = state.strict or "e" in flags or words[:2] == ["-o", "errexit"]
    state.nounset = (state.nounset or "u" in flags or ("-o", "nounset") in pairwise(words)) and "+u" not in words
    state.passes_all = state.passes_all or "a" in flags or words[:2] == ["-o", "allexport"]
    if words[:2] == ["-o", "posix"]:
        state.expands_aliases = True
    if "x" in flags or words[:2] == ["-o", "xtrace"]:
        for value in state.variables.of("PS4"):
            runner.reread(value if isinstance(value, str) else " ".join(value), state)
    return ""


def _shift(runner: Runner, command: Command, state: State) -> str:
    state.given = frozenset()
    if state.arguments is not None:
        by, before = command.args[0] if command.args else "1", state.arguments
        state.arguments = before[int(by) :] if _COUNT.fullmatch(by) else None
        if not state.arguments and UNKNOWN in before:  # `"$@"`, which may have been several
            state.arguments = None
    return ""


def _read(runner: Runner, command: Command, state: State) -> str:
    names = list(command.argv[_READ.first(command.argv) :])
    array = _READ.value(command.argv, "-a")
    text = command.stdin
    for name in names:
        if "[" in name:
            runner.reread(name, state)
    if text is None or not whole(text):
        for name in [*names, *([array] if array else []), *([] if names or array else ["REPLY"])]:
            state.set(name.partition("[")[0], text if text and not whole(text) else UNKNOWN)
        return ""
    lines = foremost([line for line in text.split("\n") if line]) or [""]
    blanks = state.variables.of("IFS")[:1]
    separator = blanks[0] if blanks and isinstance(blanks[0], str) and len(blanks[0]) == 1 else None
    if array:
        state.variables[array] = [tuple(line.split(separator)) for line in lines]
    elif not names:
        state.variables["REPLY"] = list(lines)
    else:
        cells: list[list[str]] = [line.split(separator, len(names) - 1) for line in lines]
        for index, name in enumerate(names):
            values: list[Value] = [row[index] if index < len(row) else "" for row in cells]
            state.variables[name] = values
    return ""


def _mapfile(runner: Runner, command: Command, state: State) -> str:
    names = command.operands("-d", "-n", "-O", "-s", "-u", "-C", "-c")
    text = command.stdin
    for word, after in zip(command.args, command.args[1:], strict=False):
        if word == "-C":
            runner.read(command, after, state)
    lines = tuple(text.split("\n")) if text is not None and whole(text) else (text or UNKNOWN,)
    state.set(names[0] if names else "MAPFILE", lines)
    return ""


def _let(runner: Runner, command: Command, state: State) -> str:
    for word in command.args:
        Expander(state, runner).arithmetic(word)
        Expander(state, runner).subscripts(word)
    return ""


def _test(runner: Runner, command: Command, state: State) -> str:
    for word, after in zip(command.args, command.args[1:], strict=False):
        if word == "-v":
            Expander(state, runner).subscripts(after)
    return ""


def _getopts(runner: Runner, command: Command, state: State) -> str:
    values: list[Value] = list(command.args[2:] or state.arguments or [UNKNOWN])
    state.variables["OPTARG"] = foremost(values)
    return ""


def _compgen(runner: Runner, command: Command, state: State) -> str:
    for word, after in zip(command.args, command.args[1:], strict=False):
        if word in ("-C", "-F"):
            runner.read(command, after, state.fork())
        elif word == "-W":
            runner.reread(after, state)
    return UNKNOWN


def _jobs(runner: Runner, command: Command, state: State) -> str:
    return runner.follow(command, command.args[1:], state) if command.args[:1] == ("-x",) else UNKNOWN


def _shopt(runner: Runner, command: Command, state: State) -> str:
    if "expand_aliases" in command.args:
        state.expands_aliases = "-u" not in command.args
    return ""


def _alias(runner: Runner, command: Command, state: State) -> str:
    aliases = dict(state.aliases)
    runner.spend(len(aliases))
    for word in command.args:
        name, equals, text = word.partition("=")
        if equals:
            aliases[name] = Alias(text, command.end, runner.depth)
    state.aliases = aliases
    return ""


def _unalias(runner: Runner, command: Command, state: State) -> str:
    runner.spend(len(state.aliases))
    state.aliases = {name: alias for name, alias in state.aliases.items() if name not in command.args}
    return ""


def _wait(runner: Runner, command: Command, state: State) -> str:
    for word, after in zip(command.args, (*command.args[1:], ""), strict=False):
        if word[:1] == "-" and "p" in word:  # the name of a variable
            Expander(state, runner).subscripts(word if word[-1] != "p" else after)
    return ""


def _nothing(runner: Runner, command: Command, state: State) -> str:
    return ""


def _pwd(runner: Runner, command: Command, state: State) -> str:
    return state.cwd if plain(state.cwd) else SOME


FOLLOWERS: dict[str, Follows] = {
    **dict.fromkeys(("cd", "pushd", "popd", "chdir"), _cd),
    **dict.fromkeys(DECLARES, _declare),
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("true", "false", ":", "exit", "return", "break", "continue", "umask"), _nothing),
    "wait": _wait,
    "unset": _unset,
    "set": _set,
    "shift": _shift,
    "read": _read,
    "let": _let,
    "alias": _alias,
    "unalias": _unalias,
    "pwd": _pwd,
    "getopts": _getopts,
    "compgen": _compgen,
    "jobs": _jobs,
    "shopt": _shopt,
}
