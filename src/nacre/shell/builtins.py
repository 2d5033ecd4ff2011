"""Builtins that change what is known: variables, the directory, positional parameters, aliases."""

from __future__ import annotations

import re

from nacre.shell.command import Command
from nacre.shell.expand import Expander
from nacre.shell.state import MOST, State, Value
from nacre.shell.text import SOME, UNKNOWN, plain, whole
from nacre.shell.walk import Follows, Walker

_NAME = re.compile(r"[A-Za-z_]\w*$", re.ASCII)


def _cd(walker: Walker, command: Command, state: State) -> str:
    operands = command.operands()
    if not operands:
        state.cwd = state.home if command.name == "cd" else SOME
    elif operands[0] == "-" or operands[0][:1] == "+" or not operands[0]:
        state.cwd = SOME if operands[0] else state.cwd
    else:
        state.cwd = state.path(operands[0])
    return ""


def _declare(walker: Walker, command: Command, state: State) -> str:
    expander = Expander(state, walker)
    integer = any("i" in word for word in command.options())
    for word in command.args:
        name, equals, value = word.partition("=")
        if not equals:
            continue
        if integer or "[" in name:
            expander.arithmetic(f"{name} {value}")
        name = name.partition("[")[0].rstrip("+")
        if _NAME.match(name):
            state.set(name, value)
    return ""


def _unset(walker: Walker, command: Command, state: State) -> str:
    for word in command.operands():
        if "[" in word:
            Expander(state, walker).arithmetic(word)
        else:
            state.forget(word)
    return ""


def _set(walker: Walker, command: Command, state: State) -> str:
    words = list(command.args)
    if "--" in words:
        state.arguments = words[words.index("--") + 1 :]
    elif words and words[0][:1] not in "-+":
        state.arguments = words
    if any(word[:1] == "-" and word[:2] != "--" and "x" in word for word in words) or words[:2] == ["-o", "xtrace"]:
        for value in state.variables.get("PS4", ()):
            walker.reread(value if isinstance(value, str) else " ".join(value), state)
    return ""


def _shift(walker: Walker, command: Command, state: State) -> str:
    if state.arguments is not None:
        by = command.args[0] if command.args else "1"
        state.arguments = state.arguments[int(by) :] if by.isdigit() else None
    return ""


def _read(walker: Walker, command: Command, state: State) -> str:
    names = command.operands("-d", "-i", "-n", "-N", "-p", "-t", "-u", "-a")
    array = next((after for word, after in zip(command.args, command.args[1:], strict=False) if word == "-a"), None)
    text = command.stdin
    for name in names:
        if "[" in name:
            Expander(state, walker).arithmetic(name)
    if text is None or not whole(text):
        for name in [*names, *([array] if array else []), *([] if names or array else ["REPLY"])]:
            state.set(name.partition("[")[0], text if text and not whole(text) else UNKNOWN)
        return ""
    lines = [line for line in text.split("\n") if line][:MOST] or [""]
    if array:
        state.variables[array] = [tuple(line.split()) for line in lines]
    elif not names:
        state.variables["REPLY"] = list(lines)
    else:
        cells: list[list[str]] = [line.split(None, len(names) - 1) for line in lines]
        for index, name in enumerate(names):
            values: list[Value] = [row[index] if index < len(row) else "" for row in cells]
            state.variables[name] = values
    return ""


def _mapfile(walker: Walker, command: Command, state: State) -> str:
    names = command.operands("-d", "-n", "-O", "-s", "-u", "-C", "-c")
    text = command.stdin
    for word, after in zip(command.args, command.args[1:], strict=False):
        if word == "-C":
            walker.read(command, after, state)
    lines = tuple(text.split("\n")) if text is not None and whole(text) else (text or UNKNOWN,)
    state.set(names[0] if names else "MAPFILE", lines)
    return ""


def _let(walker: Walker, command: Command, state: State) -> str:
    for word in command.args:
        Expander(state, walker).arithmetic(word)
    return ""


def _test(walker: Walker, command: Command, state: State) -> str:
    for word, after in zip(command.args, command.args[1:], strict=False):
        if word == "-v":
            Expander(state, walker).arithmetic(after)
    return ""


def _alias(walker: Walker, command: Command, state: State) -> str:
    for word in command.args:
        name, equals, text = word.partition("=")
        if equals:
            state.aliases[name] = text
    return ""


def _unalias(walker: Walker, command: Command, state: State) -> str:
    for word in command.args:
        state.aliases.pop(word, None)
    return ""


def _nothing(walker: Walker, command: Command, state: State) -> str:
    return ""


def _pwd(walker: Walker, command: Command, state: State) -> str:
    return state.cwd if plain(state.cwd) else SOME


FOLLOWERS: dict[str, Follows] = {
    **dict.fromkeys(("cd", "pushd", "popd", "chdir"), _cd),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _declare),
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("true", "false", ":", "exit", "return", "break", "continue", "wait", "umask", "shopt"), _nothing),
    "unset": _unset,
    "set": _set,
    "shift": _shift,
    "read": _read,
    "let": _let,
    "alias": _alias,
    "unalias": _unalias,
    "pwd": _pwd,
}
