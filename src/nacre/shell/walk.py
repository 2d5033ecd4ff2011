"""Tree → Commands: follows a script as bash would run it, without running anything.

Every branch is taken, every loop once with all the values its variable may have, functions where they are called (and
those that are not, at the end). What would run inside words, wrappers, other shells' texts and files that the script
itself writes is followed too; each command knows the one that runs it.
"""

from __future__ import annotations

from nacre.patterns import later
from nacre.shell.command import Command, Opened, Script
from nacre.shell.expand import Expander
from nacre.shell.followers import Followers
from nacre.shell.guards import proven, proven_by
from nacre.shell.many import Value, foremost
from nacre.shell.runner import Runner
from nacre.shell.spawns import Spawns, is_endless
from nacre.shell.state import State, Variables
from nacre.shell.syntax import (
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
    Simple,
    Test,
)
from nacre.shell.text import SOME, UNKNOWN, whole

DEEPEST_CALL = 32
"""Functions that are called inside each other; `AGAIN`: how often the same one may be among them."""
AGAIN = 2
NODE = 200
"""What it counts as, in characters, to follow a compound command, besides those in it."""
_ONE_GROUP = later(r"(\^?)([\w :/=@,-]*)\(\.([*+])\)([\w :/=@,-]*)(\$?)")
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


class Walker(Runner):
    def __init__(self, script: Script, followers: Followers) -> None:
        super().__init__(script, followers)
        self._calls: list[Function] = []
        self._called: set[int] = set()
        self._given: dict[int, set[tuple[str, ...] | None]] = {}
        """The arguments with which each function has been followed."""
        self._defined: dict[int, Function] = {}
        self._spawns = Spawns()
        self._again = False
        """Whether the body of a loop is followed for the second time."""

    # lists

    def walk(self, block: Block, state: State, stdin: str | None) -> None:
        self.block(block, state, stdin)
        if not self._defined:
            return
        for function in list(self._defined.values()):
            if id(function) not in self._called:
                self.call(function, state, None, None)
        self.script.bombs += self._spawns.endless()

    def block(self, block: Block, state: State, stdin: str | None) -> str:
        printed = []
        before, given, after = state.cwd, stdin, self._after
        guards: dict[str, list[Value] | None] | None = None
        for index, item in enumerate(block.items):
            if self.script.closed:
                return UNKNOWN
            if index and item.operator != "||":
                self._after = item.operator
            if state.input is not None:
                stdin, state.input = state.input, None
            if guards and item.operator != "&&":
                _lift(guards, state)
            if item.operator == ";":
                if state.cwd != before:
                    state.settled = state.settled and state.strict
                    before = state.cwd
                printed.append(self.node(item.node, state.fork() if item.background else state, stdin))
                continue
            names = proven(block.items[index - 1], succeeds=item.operator == "&&")
            if names:
                guards = guards or {}
                guards |= {name: state.variables.get(name) for name in names if name not in guards}
                for name in names:
                    state.require(name)
            printed.append(self._chained(item, state, stdin))
            if _leaves(item.node):
                before = state.cwd if item.operator == "||" else before
                for name in proven(block.items[index - 1], succeeds=item.operator == "||"):
                    state.require(name)
        self._after = after
        if guards:
            _lift(guards, state)
        if stdin is not given and state.input is None:
            state.input = stdin  # for those who stand around it, too
        return printed[0] if len(printed) == 1 else self.kept("".join(printed))

    def _chained(self, item: Item, state: State, stdin: str | None) -> str:
        """After `&&` or `||`."""
        if item.background:
            return self.node(item.node, state.fork(), stdin)
        if item.operator == "&&":
            self._choose(state)
            functions = state.functions
            printed = self.node(item.node, state, stdin)
            if state.functions is not functions:
                state.doubt(functions)
            return printed
        other = state.fork()
        printed = self.node(item.node, other, stdin)
        state.join(other)
        return printed

    def node(self, node: Node, state: State, stdin: str | None) -> str:
        if isinstance(node, Simple):
            return self.simple(node, state, stdin)
        if isinstance(node, Pipeline):
            for stage in node.stages:
                if stdin:
                    self.spend(len(stdin))
                stdin = self.node(stage, state.fork(), stdin)
            return stdin or ""
        if not self.spend(NODE):
            return UNKNOWN
        self._here, self._stdin = node, stdin
        opened: tuple[Opened, ...] = ()
        if node.redirects:
            opened, stdin = self.opened(node.redirects, Expander(state, self), stdin)
            self._stdin = stdin
        printed = self._compound(node, state, stdin)
        if opened:
            command = self.command((), node, state)
            command.redirects = opened
            self.emit(command)
            printed = self.redirected(command, printed, state)
            self.drain(state)
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
        printed, after = "", self._after
        taken = []
        for condition, body in branches:
            self.block(condition, state, stdin)
            if condition.items:
                self._after = ";"
            branch = state.fork()
            self._choose(branch)
            guards: dict[str, list[Value] | None] = {}
            for name in proven_by(condition):
                guards[name] = state.variables.get(name)
                branch.require(name)
            printed += self.block(body, branch, stdin)
            _lift(guards, branch)
            taken.append(branch)
        self._after = after
        for branch in taken:
            state.join(branch)
            state.input = branch.input or state.input
        if len(branches) == 1 and branches[0][1].items and _leaves(branches[0][1].items[-1].node):
            for item in branches[0][0].items[-1:]:
                for name in proven(item, succeeds=False):
                    state.require(name)
        return printed

    def _choose(self, state: State) -> None:
        if state.loops:
            self.spend(50 * len(state.loops))
            state.choose()

    def _loop(self, node: Loop, state: State, stdin: str | None) -> str:
        expander = Expander(state, self)
        if is_endless(node):
            self.script.bombs.append(self._inside or (node.start, node.end))
        if node.expressions is not None:
            expander.arithmetic(expander.text(node.expressions))
        after = self._after
        if node.condition is not None:
            self.block(node.condition, state, stdin)
            self._after = ";"
        if node.name:
            values: list[Value] = []
            for word in node.words or ():
                values += expander.fields(word)
            if node.words is None:
                values += state.arguments or [UNKNOWN]
            state.variables[node.name] = foremost(values) or [UNKNOWN]
            state.loops |= {node.name}
        printed = self._rounds(node.body, state, stdin)
        self._after = after
        if node.name in state.loops:
            state.choose({node.name})  # what is left is the last one
        return printed

    def _rounds(self, body: Block, state: State, stdin: str | None) -> str:
        """Once; and a second time, if the first one leaves something known that was not so when it began."""
        before, cwd, first = state.variables, state.cwd, len(self.script.commands)
        state.variables = Variables(before)
        printed = self.block(body, state, stdin)
        changed = state.variables.own
        moved = state.cwd != cwd and whole(state.cwd)
        if not self._again and not self.script.closed and (moved or self._learnt(changed, before)):
            self._again, second = True, len(self.script.commands)
            self.block(body, state, stdin)
            self._again = False
            self.script.commands[second:] = _news(self.script.commands, first, second)
        state.variables = before
        before.own.update(changed)
        return printed

    def _learnt(self, changed: dict[str, list[Value] | None], before: Variables) -> bool:
        """Whether a variable has another known value than it had."""
        return any(
            value not in before.of(name) and whole(value if isinstance(value, str) else "".join(value))
            for name, values in changed.items()
            if name != "_"
            for value in values or ()
        )

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
        if state.functions.get(name) is not node:
            self.spend(len(state.functions))
            state.functions = {**state.functions, name: node}
            state.unsure -= {name}
        if self._defined.get(id(node)) is not node or name not in self._spawns:
            self._defined[id(node)] = node
            self._spawns.add(name, node, self._inside or (node.start, node.body.end))

    def call(self, function: Function, state: State, stdin: str | None, arguments: list[str] | None) -> str:
        self._called.add(id(function))
        if self._calls.count(function) >= AGAIN:
            return UNKNOWN
        if len(self._calls) >= DEEPEST_CALL:
            self.close(f"more than {DEEPEST_CALL} functions are called inside each other")
            return UNKNOWN
        given = self._given.setdefault(id(function), set())
        call = None if arguments is None else tuple(arguments)
        if call in given or not self.worth(len(given), arguments or ()):
            return UNKNOWN
        given.add(call)
        self._calls.append(function)
        before, state.arguments = state.arguments, arguments
        shown, state.given = state.given, frozenset()
        try:
            return self.node(function.body, state, stdin)
        finally:
            state.arguments, state.given = before, shown
            self._calls.pop()


def _lift(guards: dict[str, list[Value] | None], state: State) -> None:
    """What a test has shown no longer holds, where nothing else was set since."""
    state.given -= guards.keys()
    for name, values in guards.items():
        if SOME in state.variables.of(name):
            state.variables.own[name] = values
    guards.clear()


def _news(commands: list[Command], first: int, second: int) -> list[Command]:
    """Of what the second round runs, what the first one did not."""
    seen = {_deed(command) for command in commands[first:second]}
    return [command for command in commands[second:] if _deed(command) not in seen]


def _deed(command: Command) -> tuple[object, ...]:
    opened = [(each.operator, each.target) for each in command.redirects]
    return command.argv, command.start, command.cwd, command.settled, command.stdin, command.script, *opened


def _leaves(node: Node) -> bool:
    """`exit`, `return`, also at the end of a group: nothing after it runs."""
    while isinstance(node, Group) and node.body.items:
        node = node.body.items[-1].node
    return isinstance(node, Simple) and node.name in ("exit", "return", "continue", "break")


def _captured(text: str, regex: str) -> tuple[str, ...]:
    """What `=~` remembers; unknown where it is more than one group between plain words."""
    form = _ONE_GROUP.fullmatch(regex) if whole(text) and whole(regex) else None
    if form is None:
        return (UNKNOWN,) * 10
    starts, before, more, after, ends = form.groups()
    start = 0 if starts else text.find(before)
    inner = start + len(before)
    last = len(text) - len(after) if ends else text.rfind(after, inner)
    fits = start >= 0 and text.startswith(before, start) and last >= inner + (more == "+")
    if not fits or not text.startswith(after, last):
        return (UNKNOWN,) * 10
    return text[start : last + len(after)], text[inner:last]
