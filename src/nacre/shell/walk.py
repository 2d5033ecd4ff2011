"""Tree → Commands: follows a script as bash would run it, without running anything.

Every branch is taken, every loop once with all the values its variable may have, functions where they are called (and
those that are not, at the end). What would run inside words, wrappers, other shells' texts and files that the script
itself writes is followed too; each command knows the one that runs it.
"""

from __future__ import annotations

from collections.abc import Set

from nacre.patterns import later
from nacre.shell.command import Opened, Script, forget_known
from nacre.shell.expand import FIELD, Expander
from nacre.shell.followers import Followers
from nacre.shell.guards import disproven_by, proven, proven_by
from nacre.shell.many import Value, either, foremost
from nacre.shell.runner import STEP, Runner
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
    Word,
)
from nacre.shell.text import SOME, UNKNOWN, has_glob, whole

DEEPEST_CALL = 32
"""Functions that are called inside each other; `AGAIN`: how often the same one may be among them with what it is given,
and once more with anything."""
AGAIN = 2
REPEATED = 64
"""Calls with nothing new about them that are followed, of all functions together."""
NODE = 200
"""What it counts as, in characters, to follow a compound command, besides those in it."""
_ONE_GROUP = later(r"(\^?)([\w :/=@,-]*)\(\.([*+])\)([\w :/=@,-]*)(\$?)")
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


class Walker(Runner):
    def __init__(self, script: Script, followers: Followers) -> None:
        super().__init__(script, followers)
        self._calls: list[Function] = []
        self._called: set[int] = set()
        self._given: dict[int, set[tuple[object, ...]]] = {}
        """The circumstances in which each function has been followed."""
        self._known: dict[int, set[tuple[object, ...]]] = {}
        """What each has run, so that it is listed once."""
        self._repeated = 0
        """How often one was followed again, in the same ones: what it sets, it sets again."""
        self._defined: dict[int, Function] = {}
        self._spawns = Spawns()
        self._again = False
        """Whether the body of a loop is followed for the second time."""

    # lists

    def walk(self, block: Block, state: State, stdin: str | None) -> None:
        self.block(block, state, stdin)
        self.spring(0, state)
        if not self._defined:
            return
        for function in list(self._defined.values()):
            if id(function) not in self._called:
                self.call(function, state, None, None)
        self.script.bombs += self._spawns.endless()

    def block(self, block: Block, state: State, stdin: str | None) -> str:
        printed = []
        before, given, after, here = state.cwd, stdin, self._after, (state.cwd, state.settled)
        guards: dict[str, list[Value] | None] | None = None
        chain: _Before | None = None
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
                here = state.cwd, state.settled
                printed.append(self.node(item.node, state.fork() if item.background else state, stdin))
                continue
            if item.operator == "&&" and chain is None and not _always(block.items[index - 1 : index]):
                chain = _Before(state)
                state.variables = Variables(state.variables)
            names = proven(block.items[index - 1], succeeds=item.operator == "&&")
            if names:
                guards = guards or {}
                guards |= {name: state.variables.get(name) for name in names if name not in guards}
                for name in names:
                    state.require(name)
            printed.append(self._chained(item, state, stdin, chain, block.items[index - 1], here))
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

    def _chained(
        self,
        item: Item,
        state: State,
        stdin: str | None,
        chain: _Before | None,
        before: Item,
        here: tuple[str, bool],
    ) -> str:
        """After `&&` or `||`. `chain`: the variables as they were before the first `&&`; `here`: the directory before
        the whole list, and whether it is settled."""
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
        other.cwd, other.settled = here[0], here[1] and before.operator == ";"
        printed = self.node(item.node, other, stdin)
        for name in proven(before, succeeds=True):
            done.require(name)
        state.cwd = here[0]
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
                in_place = state.last_in_place and stage is node.stages[-1]
                stdin = self.node(stage, state if in_place else state.fork(), stdin)
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
                return (self.apart if node.subshell else self.block)(node.body, state, stdin)
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

    def _branches(
        self,
        branches: list[tuple[Block, Block]],
        state: State,
        stdin: str | None,
        *,
        stays: bool,
        falling: Set[int] = frozenset(),
    ) -> str:
        """`stays`: it may be that none of them is taken. `falling`: those after which another may be."""
        printed, after = "", self._after
        taken: list[State] = []
        fallen: list[State] = []
        for number, (condition, body) in enumerate(branches):
            self.block(condition, state, stdin)
            if condition.items:
                self._after = ";"
            branch = state.fork()
            if fallen:
                branch.join(*fallen)
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
            if number in falling:
                fallen.append(branch)
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
            values = self._values(node, expander)
            if node.name in state.references:  # it becomes another name of each in turn
                state.references = {name: each for name, each in state.references.items() if name != node.name}
                values = [UNKNOWN]
            state.variables[node.name] = foremost(values) or [UNKNOWN]
            state.loops |= {node.name}
        printed = self._rounds(node.body, state, stdin, surely=_turns(node))
        for name in _read_by(node.condition):
            state.variables[name] = either(state.variables.of(name), [""])  # it has read all there was
        self._after = after
        if node.name in state.loops:
            state.choose({node.name})  # what is left is the last one
        return printed

    def _values(self, node: Loop, expander: Expander) -> list[Value]:
        """What a loop's variable is, one after another; for all that the variables in its words may be."""
        if node.words is None:
            return list(expander.state.arguments or [UNKNOWN])
        values: list[Value] = []
        while True:
            for word in node.words:
                fields = expander.fields(word)
                values += fields
                if _unquoted(word) and not all(map(whole, fields)):
                    values.append(SOME)  # what is not known may be several words
            expander.choice += 1
            if expander.choice >= expander.choices or not self.spend(FIELD * len(values)):
                return list(dict.fromkeys(values))

    def _rounds(self, body: Block, state: State, stdin: str | None, *, surely: bool) -> str:
        """Once; and a second time, if the first one leaves something known that was not so when it began. What is
        still changing then may become anything. Without `surely` perhaps not even once."""
        before, cwd, first, arguments = state.variables, state.cwd, len(self.script.commands), state.arguments
        state.variables = Variables(before)
        printed = self.block(body, state, stdin)
        moved = (state.cwd != cwd and whole(state.cwd)) or state.arguments != arguments
        if not self._again and not self.script.closed and (moved or self._learnt(state.variables.own, before)):
            self._again = True
            shifted, once = state.arguments, Variables()
            once.own = dict(state.variables.own)
            self.block(body, state, stdin)
            if state.arguments != shifted:  # `shift`: and so on
                state.arguments = None
                self.block(body, state, stdin)
            self._again = False
            forget_known(self.script.commands, first, set())
            for name, values in state.variables.own.items():
                if values and self._learnt({name: values}, once):
                    state.variables.own[name] = [*values, SOME]
        changed = state.variables.own
        state.variables = before
        for name, values in changed.items():
            before.own[name] = values if surely else any_of([values, before.get(name)])
        return printed

    def _learnt(self, changed: dict[str, list[Value] | None], before: Variables) -> bool:
        """Whether a variable has another value than it had, of which something is known."""
        return any(
            value not in before.of(name) and value not in (UNKNOWN, SOME)
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
        arms = [(Block(), body) for _, body in node.arms]
        return self._branches(arms, state, stdin, stays=not whole, falling=node.falling)

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
        if (inside := self._calls.count(function)) >= AGAIN:
            if inside > AGAIN or arguments is None:
                return UNKNOWN
            arguments = [SOME] * len(arguments)  # and so on
        if len(self._calls) >= DEEPEST_CALL:
            self.close(f"more than {DEEPEST_CALL} functions are called inside each other")
            return UNKNOWN
        given = self._given.setdefault(id(function), set())
        call = self._circumstances(state, stdin, arguments)
        self._repeated += call in given
        if self._repeated > REPEATED if call in given else not self.worth(len(given), arguments or ()):
            return UNKNOWN
        first = len(self.script.commands)
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
            if not inside:
                known = self._known.setdefault(id(function), set())
                self.spend(STEP * forget_known(self.script.commands, first, known))

    def _circumstances(self, state: State, stdin: str | None, arguments: list[str] | None) -> tuple[object, ...]:
        """What decides about what a function does."""
        known = state.variables.known()
        self.spend(len(known) + len(state.functions))
        values = frozenset((name, tuple(each or ())) for name, each in known.items() if name != "_")
        functions = frozenset(state.functions.items())
        return None if arguments is None else tuple(arguments), stdin, state.cwd, state.settled, values, functions


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


class _Before:
    """What was known before the first `&&` of a list."""

    __slots__ = ("arguments", "passed", "variables")

    def __init__(self, state: State) -> None:
        self.variables, self.passed, self.arguments = state.variables, state.passed, state.arguments


def _end(before: _Before, state: State, last: list[Item]) -> None:
    """Of `a && x=1`: what was set after `&&` may not have been. `last`: the items of a chain of two."""
    chain, done = before.variables, state.variables
    state.variables, state.passed = chain, state.passed & before.passed
    if state.arguments != before.arguments:
        state.arguments = None
    if len(last) == 2 and last[0].operator == ";":
        for name in proven(last[0], succeeds=False):
            state.require(name)
    for name, values in done.own.items():
        chain.own[name] = any_of([values, chain.get(name)])


def _read_by(condition: Block | None) -> list[str]:
    """The variables of `while read x y`."""
    simple = [item.node for item in condition.items if isinstance(item.node, Simple)] if condition else []
    words = [word.bare() for node in simple if node.name == "read" for word in node.words[1:] if isinstance(word, Word)]
    return [word for word in words if word and word.isidentifier()]


def _unquoted(word: Word) -> bool:
    """Whether something in it is split into words."""
    return word.fixed is None and not all(part.quoted or isinstance(part, Literal) for part in word.parts)


def _turns(node: Loop) -> bool:
    """Whether its body surely runs."""
    if node.condition is None:
        return node.words is None or any(not word.parts or isinstance(word.parts[0], Literal) for word in node.words)
    return _always(node.condition.items)


def _always(items: list[Item]) -> bool:
    """Whether it surely succeeds."""
    return len(items) == 1 and isinstance(items[0].node, Simple) and items[0].node.name in ("true", ":")


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
