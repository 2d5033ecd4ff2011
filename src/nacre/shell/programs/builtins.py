"""Builtins that change the state: variables, the directory, positional parameters, aliases."""

from __future__ import annotations

import re
from collections.abc import Callable

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import MAX_ARGUMENTS, Command
from nacre.shell.env_code import runs_code
from nacre.shell.interpreter.assignments import convert_value, store
from nacre.shell.interpreter.commands import ProgramHandler
from nacre.shell.interpreter.interpreter import Interpreter
from nacre.shell.interpreter.state import COST_ENTRY, Alias, State
from nacre.shell.options import OptionSpec
from nacre.shell.symbolic import UNKNOWN, UNKNOWN_NONEMPTY, is_fully_known, is_literal, origin_marker, to_source
from nacre.shell.syntax.nodes import DECLARES, OWNING
from nacre.shell.syntax.parser import parse
from nacre.shell.values.arrays import rebuild_cost, remove_element
from nacre.shell.values.merge import merge_values
from nacre.shell.values.parameters import BLANKS, separator
from nacre.shell.values.positional import PositionalArguments
from nacre.shell.values.positional import merge_cost as effort_of
from nacre.shell.values.values import Value, limit_values

_READ = OptionSpec("adinNptu")
_HASH = OptionSpec("p")
_MAPFILE = OptionSpec("dnOsuCc")
_CASES: dict[str, Callable[[str], str]] = {"u": str.upper, "l": str.lower}
_COST_CHECK_ARGUMENT = 10
"""Cost, in characters, of checking whether an argument may be dangerous."""
_COUNT = lazy_regex(r"[0-9]{1,9}")
_ESCAPED = lazy_regex(r"\\(.)", re.DOTALL)
_NAME = lazy_regex(r"[A-Za-z_]\w*$", re.ASCII)


def _cd(interpreter: Interpreter, command: Command, state: State) -> str:
    place, settled = UNKNOWN_NONEMPTY, True
    operands = command.operands()
    if not operands:
        place = state.home if command.name == "cd" else UNKNOWN_NONEMPTY
    elif not operands[0]:
        place, settled = state.cwd, state.cwd_certain
    elif operands[0][0] in "/." or not (operands[0] == "-" or operands[0][0] == "+" or state.variables.get("CDPATH")):
        place = state.path(operands[0]) if is_fully_known(operands[0][0]) else UNKNOWN_NONEMPTY
        settled = state.cwd_certain or (operands[0][0] == "/" and "/proc/" not in operands[0])
    state.cd_count += 1
    interpreter.scripts.cd_count += 1
    state.cwd, state.cwd_certain = place, settled
    return ""


def _declare(interpreter: Interpreter, command: Command, state: State) -> str:
    expander = interpreter.expander(command, state)
    flags = "".join(command.options())
    attributes = state.attributes
    interpreter.budget.charge(
        len(attributes.maps)
        + len(attributes.integers)
        + len(attributes.cases)
        + len(attributes.references)
        + len(state.functions.exported)
        + len(attributes.exported)
    )
    references: dict[str, str] = {}
    names = {to_source(word.partition("=")[0]).removesuffix("+").partition("[")[0] for word in command.args}
    names = {name for name in names if _NAME.match(name)}
    if "A" in flags:
        state.attributes = state.attributes.replace_values(maps=state.attributes.maps | names)
    if "i" in flags:
        state.attributes = state.attributes.replace_values(integers=state.attributes.integers | names)
        for name in names:
            _count(name, state)
    if case := next((_CASES[flag] for flag in flags if flag in _CASES), None):
        cases = {**state.attributes.cases, **dict.fromkeys(names, case)}
        state.attributes = state.attributes.replace_values(cases=cases)
    if "f" in flags and (command.name == "export" or "x" in flags):
        exported = state.functions.exported.union(command.operands())
        state.functions = state.functions.replace_values(exported=exported)
    elif (command.name == "export" and "n" not in flags) or "x" in flags:
        state.attributes = state.attributes.replace_values(exported=state.attributes.exported | names)
    elif command.name == "export":
        state.attributes = state.attributes.replace_values(exported=state.attributes.exported - names)
    if command.name in OWNING and "g" not in flags:
        for name in names:
            state.make_local(name)
    for word in command.args:
        target, equals, value = word.partition("=")
        target, append = to_source(target).removesuffix("+"), target.endswith("+")
        name, _, subscript = target.partition("[")
        if not equals or name not in names:
            continue
        if "n" in flags and command.name != "export":
            expander.subscripts(value)
            references[name] = value
        elif value[:1] == "(" and value[-1:] == ")" and not subscript and _is_array(command, flags, name, state):
            block, _ = parse(f"{word.partition('=')[0]}={to_source(value)}", lambda _: 0)  # again, as an array
            interpreter.block(block, state, command.frame.with_stdin(None))
        else:
            if name in state.attributes.integers or subscript:
                expander.arithmetic(f"{subscript} {value}")
                expander.subscripts(value)
            before = state.variables.get(name)
            store(expander, target, value, append=append)
            if command.name == "local" and state.locals is None:  # outside a function bash reports an error
                state.variables.own[name] = merge_values([state.variables.get(name), before])
            if runs_code(name):
                interpreter.scripts.run_env_code(name, value, state, command)
    if references:
        state.attributes = state.attributes.replace_values(references={**state.attributes.references, **references})
    return ""


def _is_array(command: Command, flags: str, name: str, state: State) -> bool:
    """Tell whether a quoted `(…)` is read as a list: the variable is declared as an array, or is one already."""
    if "a" in flags or "A" in flags:
        return True
    return command.name in OWNING and any(isinstance(each, tuple) for each in state.variables.values_of(name))


def _count(name: str, state: State) -> None:
    """Convert the present elements to numbers, if the variable is an array that has just been declared an integer."""
    values: list[Value] = [
        tuple(convert_value(state, name, text) for text in each) if isinstance(each, tuple) else each
        for each in state.variables.values_of(name)
    ]
    if values:
        state.variables[name] = values


def _unset(interpreter: Interpreter, command: Command, state: State) -> str:
    if command.has_flag("-n"):
        gone = set(command.args)
        kept = {name: each for name, each in state.attributes.references.items() if name not in gone}
        state.attributes = state.attributes.replace_values(references=kept)
        return ""
    words = command.operands()
    if not state.functions.bodies.keys().isdisjoint(words) and not command.has_flag("-v"):  # bash prefers a variable
        interpreter.budget.charge(COST_ENTRY * len(state.functions.bodies))
        gone = set(words)
        bodies = {name: body for name, body in state.functions.bodies.items() if name not in gone}
        state.functions = state.functions.replace_values(bodies=bodies)
    for word in words:
        name, bracket, key = word.partition("[")
        if bracket:
            interpreter.expander(command, state).expand_again(word)
            mapped = name in state.attributes.maps
            if values := state.variables.get(name):
                if not interpreter.budget.charge(sum(map(rebuild_cost, values))):
                    return ""
                state.variables[name] = [remove_element(each, key.removesuffix("]"), mapped=mapped) for each in values]
        else:
            state.forget(state.attributes.references.get(word, word))
    return ""


def _set(interpreter: Interpreter, command: Command, state: State) -> str:
    on, off, rest = _settings(list(command.args))
    if rest is not None:
        firm = command.certain_args - (len(command.args) - len(rest))
        certain = MAX_ARGUMENTS if command.certain_args == MAX_ARGUMENTS else max(0, firm)
        lists = (PositionalArguments(tuple(rest), certain),)
        state.arguments = state.arguments.replace_values(lists=lists, nonempty=frozenset())
    options = state.options
    state.options = options.replace_values(
        errexit=_is_switched_on(options.errexit, {"e", "errexit"}, on, off),
        nounset=_is_switched_on(options.nounset, {"u", "nounset"}, on, off),
        allexport=_is_switched_on(options.allexport, {"a", "allexport"}, on, off),
        expands_aliases=True if "posix" in on else options.expands_aliases,
    )
    if _is_switched_on(False, {"x", "xtrace"}, on, off):
        for value in state.variables.values_of("PS4"):
            text = value if isinstance(value, str) else " ".join(value)
            interpreter.expander(command, state).expand_again(text)
    return ""


def _settings(words: list[str]) -> tuple[set[str], set[str], list[str] | None]:
    """Parse the options of `set`: those switched on and off (letters, and names after `o`), and the new arguments.

    The arguments are None if they are not to be set.
    """
    on: set[str] = set()
    off: set[str] = set()
    while words and words[0][:1] in ("-", "+"):
        word = words.pop(0)
        if word == "--":
            return on, off, words
        (on if word[0] == "-" else off).update(word[1:], [words.pop(0)] if "o" in word and words else ())
    return on, off, words or None


def _is_switched_on(before: bool, names: set[str], on: set[str], off: set[str]) -> bool:
    return (before or not names.isdisjoint(on)) and names.isdisjoint(off)


def _shift(interpreter: Interpreter, command: Command, state: State) -> str:
    state.arguments = state.arguments.replace_values(nonempty=frozenset())
    by = command.args[0] if command.args else "1"
    number = int(by) if _COUNT.fullmatch(by) else None
    if number != 0 and interpreter.budget.charge(effort_of(state.arguments.lists) >> 3):
        shifted = tuple(dict.fromkeys(each.shift(number) for each in state.arguments.lists))
        state.arguments = state.arguments.replace_values(lists=shifted)
    return ""


def _read(interpreter: Interpreter, command: Command, state: State) -> str:
    names = list(command.argv[_READ.first(command.argv) :])
    array = _READ.value(command.argv, "-a")
    text, expander = command.stdin, interpreter.expander(command, state)
    ifs = state.variables.values_of("IFS")[:1] or [BLANKS]
    pieces = _READ.value(command.argv, "-n") or _READ.value(command.argv, "-N")
    if text is None or not is_fully_known(text) or pieces or not isinstance(ifs[0], str) or not is_fully_known(ifs[0]):
        for name in names or ([] if array else ["REPLY"]):
            store(expander, name, origin_marker(text or ""))
            if len(names) < 2 and not pieces and "[" not in name:
                state.variables[state.attributes.references.get(name, name)] = _split_unknown_input(text or "")
        if array:
            state.set(array, (origin_marker(text or ""),))
        return ""
    ends = _READ.value(command.argv, "-d")
    lines = text.split("\n" if ends is None else ends[:1] or "\0")
    if not command.has_flag("-r"):
        lines = [_ESCAPED.sub(r"\1", line) for line in lines]
    lines = limit_values([line for line in lines if line]) or [""]
    if array:
        state.variables[array] = [tuple(_fields(line, ifs[0], 0)) for line in lines]
    elif not names:
        state.variables["REPLY"] = list(lines)
    else:
        cells = [_fields(line, ifs[0], len(names)) for line in lines]
        for index, name in enumerate(names):
            values = [row[index] if index < len(row) else "" for row in cells]
            if len(values) == 1 or "[" in name:
                store(expander, name, values[-1])
            else:
                name = state.attributes.references.get(name, name)
                state.variables[name] = [convert_value(state, name, each) for each in values]
    return ""


def _split_unknown_input(text: str) -> list[Value]:
    """Return the values of `read x` for a partly unknown text; the unknown parts may contain newlines, too."""
    lines = limit_values([line for line in text.split("\n") if line])
    return [*lines, UNKNOWN_NONEMPTY] if lines and lines != [UNKNOWN] else [UNKNOWN]


def _fields(line: str, ifs: str, most: int) -> list[str]:
    """Split a line as `read` does, into at most `most` fields, of which the last has all the rest; 0: no limit."""
    blanks = "".join(each for each in ifs if each in BLANKS)
    line = line.strip(blanks) if blanks else line
    if not ifs or not line:
        return [line] if most else []
    between = separator(ifs)
    found = [line] if most == 1 else re.split(between, line, maxsplit=max(0, most - 1))
    last = re.split(between, found[-1])
    if most and len(last) == 2 and not last[1]:  # a separator at the end adds no field
        found[-1] = last[0]
    return found if most or found[-1] else found[:-1]


def _mapfile(interpreter: Interpreter, command: Command, state: State) -> str:
    names = command.argv[_MAPFILE.first(command.argv) :]
    text = command.stdin
    if (callback := _MAPFILE.value(command.argv, "-C")) is not None:
        interpreter.scripts.run_text(command, callback, state)
    lines: tuple[str, ...] = (text or UNKNOWN,)
    if text is not None and is_fully_known(text) and _MAPFILE.value(command.argv, "-O") is None:
        ends = _MAPFILE.value(command.argv, "-d")
        end = "\n" if ends is None else ends[:1] or "\0"
        *pieces, last = text.split(end)
        kept = "" if command.has_flag("-t") or end == "\0" else end
        lines = (*(each + kept for each in pieces), *([last] if last else []))
        first, most = (_MAPFILE.value(command.argv, flag) or "0" for flag in ("-s", "-n"))
        if _COUNT.fullmatch(first) and _COUNT.fullmatch(most):
            lines = lines[int(first) :][: int(most) or None]
    state.set(names[0] if names else "MAPFILE", lines)
    return ""


def _let(interpreter: Interpreter, command: Command, state: State) -> str:
    for word in command.args:
        interpreter.expander(command, state).arithmetic(word)
        interpreter.expander(command, state).subscripts(word)
    return ""


def _test(interpreter: Interpreter, command: Command, state: State) -> str:
    for word, after in zip(command.args, command.args[1:], strict=False):
        if word == "-v":
            interpreter.expander(command, state).subscripts(after)
    return ""


def _getopts(interpreter: Interpreter, command: Command, state: State) -> str:
    interpreter.budget.charge(_COST_CHECK_ARGUMENT * effort_of(state.arguments.lists))
    words = list(command.args[2:]) or [word for each in state.arguments.lists for word in each.words] or [UNKNOWN]
    if any(each.certain_args < 0 for each in state.arguments.lists):
        words.append(UNKNOWN)
    attached = [word[2:] for word in words if word[:1] == "-" and word[2:]]
    values: list[Value] = ["", *words, *attached]
    state.variables["OPTARG"] = limit_values(values)
    for name in ("OPTIND", *command.args[1:2]):
        store(interpreter.expander(command, state), name, UNKNOWN_NONEMPTY)
    return ""


def _compgen(interpreter: Interpreter, command: Command, state: State) -> str:
    for word, after in zip(command.args, command.args[1:], strict=False):
        if word in ("-C", "-F"):
            interpreter.scripts.run_text(command, after, state.fork())
        elif word == "-W":
            interpreter.expander(command, state).expand_again(after)
    return UNKNOWN


def _jobs(interpreter: Interpreter, command: Command, state: State) -> str:
    return interpreter.scripts.run_wrapped(command, command.args[1:], state) if command.args[:1] == ("-x",) else UNKNOWN


def _shopt(interpreter: Interpreter, command: Command, state: State) -> str:
    if "expand_aliases" in command.args:
        state.options = state.options.replace_values(expands_aliases="-u" not in command.args)
    if "lastpipe" in command.args:
        state.options = state.options.replace_values(lastpipe="-u" not in command.args)
    return ""


def _alias(interpreter: Interpreter, command: Command, state: State) -> str:
    aliases = dict(state.aliases)
    interpreter.budget.charge(len(aliases))
    for word in command.args:
        name, equals, text = word.partition("=")
        if equals:
            before = aliases.get(name)
            if before and interpreter.script.text.find("\n", before.end, command.start) < 0:
                before = before.before
            aliases[name] = Alias(text, command.end, command.frame.depth, before=before)
    state.aliases = aliases
    return ""


def _unalias(interpreter: Interpreter, command: Command, state: State) -> str:
    interpreter.budget.charge(COST_ENTRY * len(state.aliases))
    gone = set(command.args)
    state.aliases = {name: alias for name, alias in state.aliases.items() if name not in gone}
    return ""


def _hash(interpreter: Interpreter, command: Command, state: State) -> str:
    if (path := _HASH.value(command.argv, "-p")) is not None:
        for name in command.argv[_HASH.first(command.argv) :]:
            store(interpreter.expander(command, state), f"BASH_CMDS[{name}]", path)
    return ""


def _wait(interpreter: Interpreter, command: Command, state: State) -> str:
    for word, after in zip(command.args, (*command.args[1:], ""), strict=False):
        if word[:1] == "-" and "p" in word:  # it takes the name of a variable
            interpreter.expander(command, state).subscripts(word if word[-1] != "p" else after)
    return ""


def _nothing(interpreter: Interpreter, command: Command, state: State) -> str:
    return ""


def _pwd(interpreter: Interpreter, command: Command, state: State) -> str:
    return state.cwd if is_literal(state.cwd) else UNKNOWN_NONEMPTY


HANDLERS: dict[str, ProgramHandler] = {
    **dict.fromkeys(("cd", "pushd", "popd", "chdir"), _cd),
    **dict.fromkeys(DECLARES, _declare),
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("true", "false", ":", "exit", "return", "break", "continue", "umask"), _nothing),
    "hash": _hash,
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
