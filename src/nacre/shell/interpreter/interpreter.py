"""Tree → Commands: follows a script as bash would run it, without running anything.

Every branch is taken, every loop once with all the values its variable may have, functions where they are called (and
those that are not, at the end). What would run inside words, wrappers, other shells' texts and files that the script
itself writes is followed too; each command knows the one that runs it.
"""

from __future__ import annotations

from collections.abc import Set

from nacre.base.lazy_regex import later
from nacre.shell.command import EVERY, Opened, Script, forget_known
from nacre.shell.interpreter.control_flow import (
    Before,
    Place,
    always,
    end_chain,
    is_left,
    leaves,
    lift,
    part,
    require_shown,
)
from nacre.shell.interpreter.expand import FIELD, Expander
from nacre.shell.interpreter.files import Texts
from nacre.shell.interpreter.fork_bombs import is_endless
from nacre.shell.interpreter.functions import Caller
from nacre.shell.interpreter.nonempty_tests import disproven_by, proven, proven_by
from nacre.shell.interpreter.scripts import is_one
from nacre.shell.interpreter.state import ENTRY, State, Variables
from nacre.shell.registry import Followers
from nacre.shell.symbolic import BELOW, SOME, UNKNOWN, whole
from nacre.shell.syntax.nodes import (
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
from nacre.shell.values.positional import ANY, effort, ends, together
from nacre.shell.values.values import Value, either, foremost

NODE = 200
"""What it counts as, in characters, to follow a compound command, besides those in it."""
_ONE_GROUP = later(r"(\^?)([\w :/=@,-]*)\(\.([*+])\)([\w :/=@,-]*)(\$?)")
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


class Walker(Caller):
    def __init__(self, script: Script, followers: Followers) -> None:
        super().__init__(script, followers)
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
        if len(block.items) != 1 or state.input is not None or self.script.closed:
            return self._list(block, state, stdin)
        only, moves = block.items[0], state.moves  # no more than a short cut: most blocks are such
        printed = self._beside(only.node, state, stdin) if only.background else self.node(only.node, state, stdin)
        if only.negated and state.moves != moves:
            state.settled = False
        return printed

    def _list(self, block: Block, state: State, stdin: str | None) -> str:
        printed = []
        before, given, after, here = state.moves, stdin, self._after, (state.cwd, state.settled, state.moves)
        guards: dict[str, list[Value] | None] | None = None
        chain: Before | None = None
        led_away = False
        for index, item in enumerate(block.items):
            if self.script.closed:
                return UNKNOWN
            if index and item.operator != "||":
                self._after = item.operator
            if state.input is not None:
                stdin, state.input = state.input, None
            if guards and item.operator != "&&":
                lift(guards, state)
            if chain is not None and item.operator == ";":
                self.spend(end_chain(chain, state, block.items[index - 2 : index]))
                chain = None
            if led_away and item.operator == ";":
                self._choose_found(state)
                led_away = False
            if item.operator == ";":
                if state.moves != before:
                    alone = block.items[index - 1].operator == ";"  # `set -e` overlooks `false && true`
                    state.settled = state.settled and state.strict and alone
                    before = state.moves
                here = state.cwd, state.settled, state.moves
                follow = self._beside if item.background else self.node
                printed.append(follow(item.node, state, stdin))
                if item.negated and state.moves != here[2]:
                    state.settled = False
                continue
            if item.operator == "&&" and chain is None and not always(block.items[index - 1 : index]):
                chain = Before(state, block.items[index - 1])
                state.variables = Variables(state.variables)
            names = proven(block.items[index - 1], succeeds=item.operator == "&&")
            if names:
                guards = guards or {}
                require_shown(names, state, guards)
            moves = state.moves
            printed.append(self._chained(item, state, stdin, chain, block.items[index - 1], here))
            if item.negated and state.moves != moves:
                state.settled = False
            self._partly = self._partly or bool(printed[-1])
            chain = chain if item.operator == "&&" else None
            if leaves(item.node):
                led_away = True
                before = state.moves if item.operator == "||" else before
                for name in proven(block.items[index - 1], succeeds=item.operator == "||"):
                    state.require(name)
        self._after = after
        if guards:
            lift(guards, state)
        if chain is not None:
            self.spend(end_chain(chain, state, block.items[-2:]))
        if stdin is not given and state.input is None:
            state.input = stdin  # for those who stand around it, too
        return printed[0] if len(printed) == 1 else self.kept("".join(printed))

    def _chained(
        self,
        item: Item,
        state: State,
        stdin: str | None,
        chain: Before | None,
        before: Item,
        here: Place,
    ) -> str:
        """After `&&` or `||`. `chain`: the variables as they were before the first `&&`; `here`: where it
        was before the whole list."""
        if item.operator == "&&":
            self._choose(state)
            functions = state.functions
            printed = (self._beside if item.background else self.node)(item.node, state, stdin)
            if chain is not None and state.functions is not functions:
                self.spend(ENTRY * len(functions))
                state.doubt(functions)
            return printed
        done = state.fork()
        if chain is not None:
            self.spend(end_chain(chain, state, []))
        if item.background:
            return self._beside(item.node, state, stdin)
        other, files = state.fork(), state.written.mark()
        alone = before.operator == ";" and not before.negated
        other.cwd, other.settled = here[0], alone and is_left(here, state, before)
        self._choose_found(other)
        printed = self.node(item.node, other, stdin)
        state.written.doubt(files)
        for name in proven(before, succeeds=True):
            done.require(name)
        state.cwd = here[0]
        if leaves(item.node):
            self.spend(state.join(done, stays=False))
        else:
            self.spend(state.join(done, other, stays=False))
        return printed

    def node(self, node: Node, state: State, stdin: str | None) -> str:
        if isinstance(node, Simple):
            return self.simple(node, state, stdin)
        if isinstance(node, Pipeline):
            return self._pipeline(node, state, stdin)
        if not self.spend(NODE):
            return UNKNOWN
        self._here, self._stdin = node, stdin
        opened: tuple[Opened, ...] = ()
        pipes, sinks = self._pipes, len(self._sinks)
        if node.redirects:
            opened, stdin = self.opened(node.redirects, Expander(state, self), stdin)
            self._stdin = stdin
            self._pipes = self._redirected_pipes(opened)
        printed = self._compound(node, state, stdin)
        if opened:
            command = self.command((), node, state)
            command.redirects = opened
            self.emit(command)
            printed = self.redirected(command, printed, state)
            self._pipes = pipes
        self.drain(sinks, state)
        return printed

    def _pipeline(self, node: Pipeline, state: State, stdin: str | None) -> str:
        pipes, last = self._pipes, len(node.stages) - 1
        first = self.pipes(node, last)
        for number, stage in enumerate(node.stages):
            if stdin:
                self.spend(len(stdin))
            self._pipes = first + number - 1 if number else pipes[0], first + number if number < last else pipes[1]
            in_place = state.last_in_place and number == last
            stdin = self.node(stage, state if in_place else state.fork(), stdin)
        self._pipes = pipes
        return stdin or ""

    def _beside(self, node: Node, state: State, stdin: str | None) -> str:
        """In the background: what it writes may not be there yet."""
        files = state.written.mark()
        printed = self.node(node, state.fork(), stdin)
        state.written.doubt(files)
        return printed

    def _coprocessed(self, node: Coprocess, state: State, stdin: str | None) -> str:
        """What a coprocess reads and prints is the shell's own, by descriptors in a variable."""
        pipes, first = self._pipes, self.pipes(node, 2)
        self._pipes = self._coprocess = first, first + 1
        printed = self._beside(node.command, state, stdin)
        self._pipes = pipes
        return printed

    def _compound(self, node: Node, state: State, stdin: str | None) -> str:
        match node:
            case Group():
                return (self.apart if node.subshell else self.block)(node.body, state, stdin)
            case If():
                whole = not node.branches[-1][0].items or any(always(condition.items) for condition, _ in node.branches)
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
                self.define(node, state)
            case Coprocess():
                return self._coprocessed(node, state, stdin)
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
        fallen: State | None = None
        files, wrote, since, led_away = state.written, list[dict[str, Texts]](), -1, False
        for number, (condition, body) in enumerate(branches):
            if self.script.closed:
                return UNKNOWN
            before, mark = (state.cwd, state.settled, state.moves), files.mark()
            self.block(condition, state, stdin)
            if number and since < 0 and files.mark() > mark:
                since = mark
            mark = files.mark()
            if condition.items:
                self._after = ";"
            branch = state.fork()
            if state.moves != before[2]:
                part(branch, state, before, condition)
            if fallen is not None:
                self.spend(branch.join(fallen))
            self._choose(branch)
            guards: dict[str, list[Value] | None] = {}
            require_shown(proven_by(condition), branch, guards)
            printed += self.block(body, branch, stdin)
            wrote.append(files.undo(mark))
            lift(guards, branch)
            state.input = branch.input or state.input
            if body.items and leaves(body.items[-1].node):
                led_away = True
            else:
                taken.append(branch)
            if number in falling:
                first = fallen is None
                fallen = fallen or state.fork()
                self.spend(fallen.join(branch, stays=not first))  # one for all, or each would meet each
                files.join(wrote[-1])
        files.join(*wrote, stays=stays)
        if since >= 0:
            files.doubt(since)
        self._after = after
        self._partly = self._partly or bool(printed)
        if len(branches) == 1:
            for name in disproven_by(branches[0][0]):
                state.require(name)
        if taken:
            self.spend(state.join(*taken, stays=stays))
        if led_away:
            self._choose_found(state)
        return printed

    def _choose(self, state: State) -> None:
        if state.loops:
            self.spend(50 * len(state.loops))
            state.choose()
        self._choose_found(state)

    def _choose_found(self, state: State) -> None:
        if state.found and self.spend(NODE):
            self.spend(state.choose_found())

    def _loop(self, node: Loop, state: State, stdin: str | None) -> str:
        expander = Expander(state, self)
        if is_endless(node):
            self.script.bombs.append(self._inside or (node.start, node.end))
        if node.expressions is not None:
            expander.arithmetic(expander.text(node.expressions))
        after, before, found = self._after, state.moves, state.found
        if node.condition is not None:
            self.block(node.condition, state, stdin)
            self._after = ";"
            state.settled = state.settled and state.moves == before  # it is going to move on, and fail in the end
        if node.name:
            values = self._values(node, expander)
            if node.name in state.references:  # it becomes another name of each in turn
                state.references = {name: each for name, each in state.references.items() if name != node.name}
                values = [UNKNOWN]
            state.variables[node.name] = foremost(values) or [UNKNOWN]
            state.loops |= {node.name}
        read = _read_by(node.condition)
        if any(BELOW in value for name in (node.name, *read) if name for value in state.variables.of(name)):
            state.found = True
        printed = self._rounds(node, state, stdin)
        state.found = found
        for name in read:
            state.variables[name] = either(state.variables.of(name), [""])  # it has read all there was
        self._after = after
        self._partly = self._partly or bool(printed and not (node.name and is_one(node.body)))
        if node.name in state.loops:
            state.choose({node.name})  # what is left is the last one
        return printed

    def _values(self, node: Loop, expander: Expander) -> list[Value]:
        """What a loop's variable is, one after another; for all that the variables in its words may be."""
        values: list[Value] = []
        if node.words is None:
            lists = expander.state.arguments
            self.spend(effort(lists))
            if ANY in lists or not lists:
                self.wonder("$@")
            values = [word for each in lists for word in each.words] or [UNKNOWN]
            return values if all(each.firm == EVERY for each in lists) else [*values, SOME]
        while True:
            for word in node.words:
                fields = expander.fields(word)
                values += fields
                if word.spreads and not all(map(whole, fields)):
                    values.append(SOME)  # what is not known may be several words
            expander.choice += 1
            if expander.choice >= expander.choices or not self.spend(FIELD * len(values)):
                return list(dict.fromkeys(values))

    def _rounds(self, node: Loop, state: State, stdin: str | None) -> str:
        """Once; and a second time, if the first one leaves something known that was not so when it began. What is
        still changing then may become anything. Perhaps it is not even once."""
        body, surely = node.body, _turns(node)
        before, cwd, first, arguments = state.variables, state.cwd, len(self.script.commands), state.arguments
        moves, functions, files = state.moves, state.functions, state.written.mark()
        state.variables = Variables(before)
        printed = self.block(body, state, stdin)
        moved = state.moves != moves or state.arguments != arguments or state.functions is not functions
        if (
            not self._again
            and not self.script.closed
            and not self._turns_once(node)
            and (moved or self._learnt(state.variables.own, before))
        ):
            self._again = True
            state.settled = state.settled and state.cwd == cwd
            shifted, once = state.arguments, Variables()
            once.own = dict(state.variables.own)
            self.block(body, state, stdin)
            if state.arguments != shifted:  # `shift`: and so on
                left = ends(shifted)
                self.spend(effort(left))
                state.arguments = together(left if set(left).issuperset(state.arguments) else state.arguments, (ANY,))
                self.block(body, state, stdin)
            self._again = False
            forget_known(self.script.commands, first, set())
            for name, values in state.variables.own.items():
                if values and self._learnt({name: values}, once):
                    state.variables.own[name] = [*values, SOME]
        if not surely:
            state.written.doubt(files)
        changed, state.variables = state.variables, before
        self.spend(before.join(changed, stays=not surely))
        if not surely:
            self.spend(state.join_arguments(state.arguments, arguments))
        return printed

    def _turns_once(self, node: Loop) -> bool:
        """Whether its body runs once at most: for one word, or up to a `break` at its end."""
        if node.words is not None:
            return len(node.words) == 1 and node.words[0].fixed is not None
        last = node.body.items[-1] if node.body.items else None
        breaks = (
            last is not None and last.operator == ";" and isinstance(last.node, Simple) and last.node.name == "break"
        )
        return breaks and "continue" not in self.script.text

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


def _read_by(condition: Block | None) -> list[str]:
    """The variables of `while read x y`."""
    simple = [item.node for item in condition.items if isinstance(item.node, Simple)] if condition else []
    words = [word.bare() for node in simple if node.name == "read" for word in node.words[1:] if isinstance(word, Word)]
    return [word for word in words if word and word.isidentifier()]


def _turns(node: Loop) -> bool:
    """Whether its body surely runs."""
    if node.condition is None:
        return node.words is None or any(not word.parts or isinstance(word.parts[0], Literal) for word in node.words)
    return always(node.condition.items)


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
