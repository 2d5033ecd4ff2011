"""Tree → Commands: follows a script as bash would run it, without running anything.

Every branch is taken, every loop once with all the values its variable may have, functions where they are called (and
those that are not, at the end). What would run inside words, wrappers, other shells' texts and files that the script
itself writes is followed too; each command knows the one that runs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from nacre.shell.command import Command, Opened, Script
from nacre.shell.environment import function_name, is_command, is_expanded, runs_code
from nacre.shell.expand import Expander
from nacre.shell.parse import expansion, parse
from nacre.shell.spawns import Spawns
from nacre.shell.state import MOST, Alias, State, Value
from nacre.shell.syntax import (
    Assignment,
    Block,
    Calculation,
    Case,
    Coprocess,
    Function,
    Group,
    If,
    Item,
    Loop,
    Node,
    Pipeline,
    Redirect,
    Simple,
    Substitution,
    Test,
    Word,
)
from nacre.shell.text import UNKNOWN, bounded, could_be, has_glob, least, plain, source, whole
from nacre.shell.variables import assign, assigned_value
from nacre.shell.words import Malformed, TooDeep

DEEPEST = 8
"""Wrappers and texts inside each other that are followed: `sudo bash -c "…"` is two."""
LONGEST = 20_000
"""Commands."""
CALLS = 24
"""Different arguments with which one function is followed."""
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))

Follows: TypeAlias = "Callable[[Walker, Command, State], str]"
"""What a command does to the state and to other commands; gives what it would print."""


class Walker:
    def __init__(self, script: Script, followers: dict[str, Follows]) -> None:
        self.script = script
        self.followers = followers
        self._parent: Command | None = None
        self._inside: tuple[int, int] | None = None
        """The span to report for text that does not stand in the script as it is read."""
        self._here = (0, 0)
        self.depth = 0
        self._calls: list[Function] = []
        self._aliases: list[str] = []
        self._called: set[int] = set()
        self._given: dict[int, set[tuple[str, ...] | None]] = {}
        """The arguments with which each function has been followed."""
        self._defined: dict[int, Function] = {}
        self._spawns = Spawns()

    # Runs

    def substitute(self, part: Substitution, state: State) -> str:
        self.wonder("$(…)")
        inner = state.fork()
        printed = self.block(part.body, inner, None)
        if part.kind == "$":
            return printed.rstrip("\n")
        path = f"/dev/fd/{63 + len(state.written)}"
        state.written[path] = printed
        return path

    def reread(self, text: str, state: State) -> str:
        """Expanded once more, as between double quotes."""
        if "$" not in text and "`" not in text:
            return text
        before, self._inside = self._inside, self._inside or self._here
        try:
            body = expansion(source(text))
        except (Malformed, TooDeep, RecursionError):
            return UNKNOWN
        printed = Expander(state, self).text(body)
        self._inside = before
        return printed

    def wonder(self, what: str) -> None:
        self.script.unknown[what] = None

    # for the followers

    def follow(self, parent: Command, argv: tuple[str, ...], state: State, stdin: str | None = None) -> str:
        """A wrapper runs this."""
        if not argv:
            return stdin or UNKNOWN
        command = Command(argv, parent.start, parent.end, cwd=state.cwd, home=state.home)
        command.settled = state.settled
        command.stdin = parent.stdin if stdin is None else stdin
        return self._deeper(parent, lambda: self._run(command, state))

    def read(
        self,
        parent: Command,
        text: str,
        state: State,
        *,
        stdin: str | None = None,
        arguments: list[str] | None = None,
        zero: str = "bash",
    ) -> str:
        """A shell executes this text."""
        if parent.script is None:
            parent.script = text
        text = source(text)
        inner = state.fork() if arguments is not None else state
        if arguments is not None:
            inner.arguments, inner.zero = arguments, zero

        def run() -> str:
            before = self._inside
            at = self.script.text.find(text, parent.start, parent.end) if before is None else -1
            if at < 0:
                self._inside = before or (parent.start, parent.end)
            block, broken = parse(text, (lambda position: at + position) if at >= 0 else None)
            self.script.broken = self.script.broken or broken
            printed = self.block(block, inner, stdin)
            self._inside = before
            return printed

        return self._deeper(parent, run)

    def _deeper(self, parent: Command, run: Callable[[], str]) -> str:
        if self.depth >= DEEPEST:
            self.script.closed = f"more than {DEEPEST} wrappers stand inside each other"
            return UNKNOWN
        before, self._parent = self._parent, parent
        self.depth += 1
        try:
            return run()
        finally:
            self.depth -= 1
            self._parent = before

    def given(self, name: str, value: str, state: State, command: Command | None = None) -> None:
        """A variable of the environment whose value is code."""
        if is_expanded(name):
            path = self.reread(value, state)
            text = state.written.get(state.path(path))
            if text is not None and command is not None:
                self.read(command, text, state.fork())
        elif function := function_name(name):
            self.block(parse(f"{function} {value}", lambda _: 0)[0], state, None)
        elif is_command(name):
            parent = command or Command((f"{name}={value}",), 0, len(self.script.text), cwd=state.cwd, home=state.home)
            script, self._inside = parent.script, self._inside or (parent.start, parent.end)
            self.read(parent, value.removeprefix("|"), state.fork())
            parent.script, self._inside = script, None

    # lists

    def whole(self, block: Block, state: State, stdin: str | None) -> None:
        self.block(block, state, stdin)
        for function in list(self._defined.values()):
            if id(function) not in self._called:
                self._call(function, state, None, None)
        self.script.bombs += self._spawns.endless()

    def block(self, block: Block, state: State, stdin: str | None) -> str:
        printed = []
        before = state.cwd
        for item in block.items:
            if item.operator == ";":
                state.settled = state.settled and (state.strict or state.cwd == before)
                before = state.cwd
            printed.append(self._item(item, state, stdin))
            if item.operator == "||" and _leaves(item.node):
                before = state.cwd
        return printed[0] if len(printed) == 1 else bounded("".join(printed))

    def _item(self, item: Item, state: State, stdin: str | None) -> str:
        if item.background:
            return self.node(item.node, state.fork(), stdin)
        if item.operator != "||":
            if item.operator == "&&":
                state.choose()
            return self.node(item.node, state, stdin)
        other = state.fork()
        printed = self.node(item.node, other, stdin)
        state.join(other)
        return printed

    def node(self, node: Node, state: State, stdin: str | None) -> str:
        if isinstance(node, Simple):
            return self._simple(node, state, stdin)
        if isinstance(node, Pipeline):
            for stage in node.stages:
                stdin = self.node(stage, state.fork(), stdin)
            return stdin or ""
        opened: tuple[Opened, ...] = ()
        if node.redirects:
            opened, stdin = self._opened(node.redirects, Expander(state, self), stdin)
        printed = self._compound(node, state, stdin)
        if opened:
            command = self._command((), node, state)
            command.redirects = opened
            self._emit(command)
            printed = _kept(command, printed, state)
        return printed

    def _compound(self, node: Node, state: State, stdin: str | None) -> str:
        match node:
            case Group():
                return self.block(node.body, state.fork() if node.subshell else state, stdin)
            case If():
                return self._branches([(c, b) for c, b in node.branches], state, stdin)
            case Loop():
                return self._loop(node, state, stdin)
            case Case():
                return self._case(node, state, stdin)
            case Test():
                self._test(node, state)
            case Calculation():
                expander = Expander(state, self)
                expander.arithmetic(expander.text(node.expression))
            case Function():
                self._define(node, state)
            case Coprocess():
                return self.node(node.command, state.fork(), stdin)
        return ""

    def _branches(self, branches: list[tuple[Block, Block]], state: State, stdin: str | None) -> str:
        printed = ""
        taken = []
        for condition, body in branches:
            self.block(condition, state, stdin)
            branch = state.fork()
            branch.choose()
            printed += self.block(body, branch, stdin)
            taken.append(branch)
        for branch in taken:
            state.join(branch)
        return printed

    def _loop(self, node: Loop, state: State, stdin: str | None) -> str:
        expander = Expander(state, self)
        if node.expressions is not None:
            expander.arithmetic(expander.text(node.expressions))
        if node.condition is not None:
            self.block(node.condition, state, stdin)
        if node.name:
            values: list[Value] = []
            for word in node.words or ():
                values += expander.fields(word)
            if node.words is None:
                values += state.arguments or [UNKNOWN]
            state.variables[node.name] = values[:MOST] or [UNKNOWN]
            state.loops |= {node.name}
        return self.block(node.body, state, stdin)

    def _case(self, node: Case, state: State, stdin: str | None) -> str:
        expander = Expander(state, self)
        expander.text(node.word)
        for patterns, _ in node.arms:
            for each in patterns:
                expander.text(each)
        return self._branches([(Block(), body) for _, body in node.arms], state, stdin)

    def _test(self, node: Test, state: State) -> None:
        expander = Expander(state, self)
        texts = [expander.text(word) for word in node.words]
        for index, text in enumerate(texts):
            if text in _COMPARES:
                for operand in texts[max(0, index - 1) : index + 2 : 2]:
                    expander.arithmetic(operand)
            elif text == "-v" and index + 1 < len(texts):
                expander.subscripts(texts[index + 1])
            elif text == "=~" and 0 < index < len(texts) - 1:
                state.set("BASH_REMATCH", _captured(texts[index - 1], texts[index + 1]))

    # functions

    def _define(self, node: Function, state: State) -> None:
        name = node.name.bare() or Expander(state, self).text(node.name)
        state.functions[name] = node
        self._defined[id(node)] = node
        self._spawns.add(name, node, self._inside or (node.start, node.body.end))

    def _call(self, function: Function, state: State, stdin: str | None, arguments: list[str] | None) -> str:
        self._called.add(id(function))
        if function in self._calls or len(self._calls) >= DEEPEST:
            return UNKNOWN
        given = self._given.setdefault(id(function), set())
        call = None if arguments is None else tuple(arguments)
        if call in given or len(given) >= CALLS:
            return UNKNOWN
        given.add(call)
        self._calls.append(function)
        before, state.arguments = state.arguments, arguments
        try:
            return self.node(function.body, state, stdin)
        finally:
            state.arguments = before
            self._calls.pop()

    # simple commands

    def _simple(self, node: Simple, state: State, stdin: str | None) -> str:
        expander = Expander(state, self)
        printed = ""
        self._here = (node.start, node.end)
        seen: list[list[str]] = []
        while expander.choice < min(expander.choices, MOST):
            argv: list[str] = []
            for word in node.words:
                if isinstance(word, Word):
                    if word.fixed is not None:
                        argv.append(word.fixed)
                    else:
                        argv += expander.fields(word)
                else:
                    if argv and "A" in "".join(each for each in argv[1:] if each[:1] == "-"):
                        state.maps |= {word.name}
                    argv.append(self._argument(word, expander))
            expander.choice += 1
            if argv not in seen:
                seen.append(argv)
                expander.choice -= 1
                printed = self._prepared(node, argv, expander, state, stdin)
                expander.choice += 1
        return printed

    def _argument(self, assignment: Assignment, expander: Expander) -> str:
        """`name=value` among the arguments; an array's is remembered at once."""
        value = assigned_value(assignment, expander)
        if isinstance(value, tuple):
            expander.state.set(assignment.name, value)
            return assignment.name
        return f"{assignment.name}{'+' if assignment.append else ''}={value}"

    def _prepared(self, node: Simple, argv: list[str], expander: Expander, state: State, stdin: str | None) -> str:
        assigned: dict[str, str] = {}
        for assignment in node.assignments:
            value = assigned_value(assignment, expander)
            if argv:
                assigned[assignment.name] = value if isinstance(value, str) else " ".join(value)
            else:
                assign(expander, assignment, value)
        command = self._command(tuple(argv), node, state)
        command.stdin = stdin
        if node.redirects:
            command.redirects, command.stdin = self._opened(node.redirects, expander, stdin)
        command.assigned = assigned
        if argv and state.aliases and (alias := self._alias(node, state)):
            self._aliases.append(argv[0])
            printed = self.read(command, " ".join((alias.text, *argv[1:])), state, stdin=command.stdin)
            self._aliases.pop()
            return _kept(command, printed, state)
        if argv:
            return _kept(command, self._run(command, state), state)
        if command.redirects or node.assignments:
            self._emit(command)
            return _kept(command, command.stdin or "", state) if command.redirects else ""
        return ""

    def _command(self, argv: tuple[str, ...], node: Node, state: State) -> Command:
        start, end = self._inside or (node.start, node.end)
        command = Command(argv, start, end, cwd=state.cwd, home=state.home)
        command.settled = state.settled
        return command

    def _emit(self, command: Command) -> None:
        command.parent = self._parent
        commands = self.script.commands
        if len(commands) < LONGEST:
            commands.append(command)
        else:
            self.script.closed = f"it runs more than {LONGEST} commands"

    def _run(self, command: Command, state: State) -> str:
        self._emit(command)
        if self.script.closed:
            return UNKNOWN
        before = {name: state.variables.get(name) for name in command.assigned}
        for name, value in command.assigned.items():
            state.set(name, value)
            if runs_code(name):
                self.given(name, value, state, command)
        printed = self._followed(command, state)
        for name, values in before.items():
            if values is None:
                state.forget(name)
            else:
                state.variables[name] = values
        state.variables["_"] = [command.argv[-1]]
        return printed

    def _followed(self, command: Command, state: State) -> str:
        first = command.argv[0]
        if function := state.functions.get(first):
            command.calls = True
            return self._call(function, state, command.stdin, list(command.args))
        if follower := self.followers.get(command.name):
            return follower(self, command, state)
        if not plain(first):
            self.wonder(first)
            if not least(first) and len(command.argv) > 1:  # an empty `$SUDO` before the command
                return self.follow(command, command.args, state)
            if has_glob(command.name):
                for name in [name for name in self.followers if could_be(command.name, name)][:MOST]:
                    self.follow(command, (name, *command.args), state)
        elif (text := state.written.get(state.path(first))) is not None and "/" in first:
            return self.read(command, text, state, arguments=list(command.args))
        return UNKNOWN

    def _alias(self, node: Simple, state: State) -> Alias | None:
        """The alias that a command's first word is: unquoted, and defined on a line before."""
        first = node.words[0] if node.words else None
        name = first.bare() if isinstance(first, Word) else None
        alias = state.aliases.get(name) if name and state.expands_aliases and name not in self._aliases else None
        if alias is None or alias.depth != self.depth or self._inside:
            return alias
        return alias if "\n" in self.script.text[alias.end : node.start] else None

    def _opened(
        self, redirects: list[Redirect], expander: Expander, stdin: str | None
    ) -> tuple[tuple[Opened, ...], str | None]:
        opened = []
        for redirect in redirects:
            match redirect.operator:
                case "<<" | "<<-":
                    text = expander.text(redirect.target)
                case "<<<":
                    text = expander.text(redirect.target) + "\n"
                case _:
                    target = " ".join(expander.fields(redirect.target))
                    opened.append(Opened(redirect.descriptor, redirect.operator, target))
                    if redirect.operator not in ("<", "<>"):
                        continue
                    text = expander.state.written.get(expander.state.path(target), UNKNOWN)
            if redirect.descriptor in ("", "0"):
                stdin = text
            else:
                expander.state.written[f"/dev/fd/{redirect.descriptor}"] = text
        return tuple(opened), stdin


def _leaves(node: Node) -> bool:
    """`exit`, `return`, also at the end of a group: nothing after it runs."""
    while isinstance(node, Group) and node.body.items:
        node = node.body.items[-1].node
    first = node.words[0] if isinstance(node, Simple) and node.words else None
    return isinstance(first, Word) and first.bare() in ("exit", "return", "continue", "break")


def _captured(text: str, regex: str) -> tuple[str, ...]:
    """What `=~` remembers; unknown where it is more than a simple match."""
    try:
        found = re.search(regex, text) if whole(text) and whole(regex) and "[[" not in regex else None
    except re.error:
        found = None
    return (UNKNOWN,) * 10 if found is None else (found[0], *(group or "" for group in found.groups()))


def _kept(command: Command, printed: str, state: State) -> str:
    """What is left to print after redirections; files remember what went into them."""
    for opened in command.redirects:
        if opened.writes and opened.descriptor in ("", "1") and not opened.target.isdigit():
            path = state.path(opened.target)
            before = state.written.get(path, "") if opened.operator in (">>", "&>>") else ""
            state.written[path] = bounded(before + printed)
            printed = ""
    return printed
