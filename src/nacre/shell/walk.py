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
from nacre.shell.guards import disproven_by, proven, proven_by
from nacre.shell.many import Value, foremost
from nacre.shell.runner import Runner
from nacre.shell.spawns import Spawns, is_endless
from nacre.shell.state import State, Variables, any_of
from nacre.shell.syntax import (
    Block,
    Calculation,
    Case,
    Coprocess,
    Function,
    Group,
    If,
    Item,
    Literal,
    Loop,
    Node,
    Pipeline,
    Simple,
    Test,
)
from nacre.shell.text import SOME, UNKNOWN, has_glob, whole

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
        chain: Variables | None = None
        for index, item in enumerate(block.items):
            if self.script.closed:
                return UNKNOWN
            if index and item.operator != "||":
                self._after = item.operator
            if state.input is not None:
                stdin, state.input = state.input, None
            if guards and item.operator != "&&":
                _lift(guards, state)
            if chain is not None and item.operator == ";":
                _end(chain, state, block.items[index - 2 : index])
                chain = None
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
            if item.operator == "&&" and chain is None and not _always(block.items[index - 1 : index]):
                chain, state.variables = state.variables, Variables(state.variables)
            printed.append(self._chained(item, state, stdin, chain, block.items[index - 1]))
            chain = chain if item.operator == "&&" else None
            if _leaves(item.node):
                before = state.cwd if item.operator == "||" else before
                for name in proven(block.items[index - 1], succeeds=item.operator == "||"):
                    state.require(name)
        self._after = after
        if guards:
            _lift(guards, state)
        if chain is not None:
            _end(chain, state, block.items[-2:])
        if stdin is not given and state.input is None:
            state.input = stdin  # for those who stand around it, too
        return printed[0] if len(printed) == 1 else self.kept("".join(printed))

    def _chained(self, item: Item, state: State, stdin: str | None, chain: Variables | None, before: Item) -> str:
        """After `&&` or `||`. `chain`: the variables as they were before the first `&&`."""
        if item.operator == "&&":
            self._choose(state)
            functions = state.functions
            printed = self.node(item.node, state.fork() if item.background else state, stdin)
            if chain is not None and state.functions is not functions:
                state.doubt(functions)
            return printed
        done = state.fork()
        if chain is not None:
            _end(chain, state, [])
        if item.background:
            return self.node(item.node, state.fork(), stdin)
        other = state.fork()
        printed = self.node(item.node, other, stdin)
        for name in proven(before, succeeds=True):
            done.require(name)
        if _leaves(item.node):
            state.join(done, stays=False)
        else:
            state.join(done, other, stays=False)
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
                whole = not node.branches[-1][0].items or any(
                    _always(condition.items) for condition, _ in node.branches
                )
                return self._branches(node.branches, state, stdin, stays=not whole)
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

    def _branches(self, branches: list[tuple[Block, Block]], state: State, stdin: str | None, *, stays: bool) -> str:
        """`stays`: it may be that none of them is taken."""
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
            state.input = branch.input or state.input
            if not (body.items and _leaves(body.items[-1].node)):
                taken.append(branch)
        self._after = after
        if len(branches) == 1:
            for name in disproven_by(branches[0][0]):
                state.require(name)
        if taken:
            state.join(*taken, stays=stays)
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
        printed = self._rounds(node.body, state, stdin, surely=_turns(node))
        self._after = after
        if node.name in state.loops:
            state.choose({node.name})  # what is left is the last one
        return printed

    def _rounds(self, body: Block, state: State, stdin: str | None, *, surely: bool) -> str:
        """Once; and a second time, if the first one leaves something known that was not so when it began. Without
        `surely` perhaps not even once."""
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
        for name, values in changed.items():
            before.own[name] = values if surely else any_of([values, before.get(name)])
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
        whole = any(each.bare() == "*" for patterns, _ in node.arms for each in patterns)
        return self._branches([(Block(), body) for _, body in node.arms], state, stdin, stays=not whole)

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
        if arguments and (UNKNOWN in arguments[:-1] or any(map(has_glob, arguments))):
            self._call(function, state.fork(), stdin, _moved(arguments))
        return self._call(function, state, stdin, arguments)

    def _call(self, function: Function, state: State, stdin: str | None, arguments: list[str] | None) -> str:
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
        outer, state.locals = state.locals, {}
        try:
            return self.node(function.body, state, stdin)
        finally:
            state.variables.own.update(state.locals)
            state.arguments, state.given, state.locals = before, shown, outer
            self._calls.pop()


def _lift(guards: dict[str, list[Value] | None], state: State) -> None:
    """What a test has shown no longer holds, where nothing else was set since."""
    state.given -= guards.keys()
    for name, values in guards.items():
        if SOME in state.variables.of(name):
            state.variables.own[name] = values
    guards.clear()


def _moved(arguments: list[str]) -> list[str]:
    """As they may be, too: an empty `$x` is no argument, a glob is two, and those after it are others in number."""
    return [each for word in arguments if word != UNKNOWN for each in ((word, word) if has_glob(word) else (word,))]


def _end(chain: Variables, state: State, last: list[Item]) -> None:
    """Of `a && x=1`: what was set after `&&` may not have been. `last`: the items of a chain of two."""
    done, state.variables = state.variables, chain
    if len(last) == 2 and last[0].operator == ";":
        for name in proven(last[0], succeeds=False):
            state.require(name)
    for name, values in done.own.items():
        chain.own[name] = any_of([values, chain.get(name)])


def _turns(node: Loop) -> bool:
    """Whether its body surely runs."""
    if node.condition is None:
        return node.words is None or any(not word.parts or isinstance(word.parts[0], Literal) for word in node.words)
    return _always(node.condition.items)


def _always(items: list[Item]) -> bool:
    """Whether it surely succeeds."""
    return len(items) == 1 and isinstance(items[0].node, Simple) and items[0].node.name in ("true", ":")


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
