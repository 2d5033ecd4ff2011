"""Follow a script as bash would run it, without running anything, and record its commands.

Every branch is taken, every loop once with all values its variable may have, functions where they are called (and those
that are not called, at the end). Commands inside words, wrappers, texts for other shells and files that the script
itself writes are followed, too; each command refers to the one that runs it.
"""

from __future__ import annotations

from collections.abc import Set

from nacre.shell.command import MAX_ARGUMENTS, Redirection, Script, drop_known
from nacre.shell.interpreter.control_flow import (
    ChainStart,
    CwdState,
    always_succeeds,
    assume_nonempty,
    drop_facts,
    end_chain,
    exits,
    may_exit,
    split_cwd,
    still_there,
)
from nacre.shell.interpreter.expand import COST_FIELD, Expander
from nacre.shell.interpreter.files import Contents
from nacre.shell.interpreter.fork_bombs import is_endless
from nacre.shell.interpreter.functions import FunctionCalls
from nacre.shell.interpreter.nonempty_tests import nonempty_if, nonempty_if_false, nonempty_if_true
from nacre.shell.interpreter.scripts import is_single_command
from nacre.shell.interpreter.state import COST_ENTRY, State, Variables
from nacre.shell.registry import ProgramRegistry
from nacre.shell.symbolic import ALL_FOUND, UNKNOWN, UNKNOWN_NONEMPTY, is_fully_known
from nacre.shell.syntax.nodes import (
    AndOr,
    ArithmeticCommand,
    Block,
    Case,
    Coprocess,
    Function,
    Group,
    If,
    ListItem,
    Literal,
    Loop,
    Node,
    Pipeline,
    SimpleCommand,
    Test,
    Word,
)
from nacre.shell.values.positional import ANY, all_shifts, merge_cost, merge_lists
from nacre.shell.values.regex_groups import regex_groups
from nacre.shell.values.values import Value, limit_values, union

COST_NODE = 200
"""Cost, in characters, of following a compound command, in addition to the commands in it."""
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


class Interpreter(FunctionCalls):
    """Follows lists, pipelines and compound commands. The base classes follow the commands in them."""

    def __init__(self, script: Script, registry: ProgramRegistry) -> None:
        super().__init__(script, registry)
        self._is_second_round = False
        """Whether the body of a loop is being followed for the second time."""

    # lists

    def interpret(self, block: Block, state: State, stdin: str | None) -> None:
        """Follow a whole script: its commands, then its traps and the functions that it never calls."""
        self.block(block, state, stdin)
        self.run_traps(0, state)
        if not self._defined:
            return
        for function in list(self._defined.values()):
            if id(function) not in self._called:
                self.call(function, state, None, None)
        self.script.fork_bombs += self._fork_bomb_finder.find()

    def block(self, block: Block, state: State, stdin: str | None) -> str:
        """Follow the commands of a block; return what they print."""
        only = block.only_item
        if only is None or state.pending_stdin is not None or self.script.gave_up:
            return self._list(block, state, stdin)
        return self._item(only, state, stdin)  # just a fast path: most blocks are such

    def _list(self, block: Block, state: State, stdin: str | None) -> str:
        printed: list[str] = []
        given, after, settled = stdin, self._after, state.cd_count
        previous: AndOr | None = None
        for statement in block.statements:
            if self.script.gave_up:
                return UNKNOWN
            if previous is not None:
                self._after = ";"
                if state.in_find_loop and may_exit(previous):
                    self._choose_found(state)
                if state.cd_count != settled:
                    alone = len(previous.items) == 1  # `set -e` ignores `false && true`
                    state.cwd_certain = state.cwd_certain and state.errexit and alone
            if state.pending_stdin is not None:
                stdin, state.pending_stdin = state.pending_stdin, None
            settled = self._and_or(statement.items, state, stdin, printed)
            previous = statement
        self._after = after
        if stdin is not given and state.pending_stdin is None:
            state.pending_stdin = stdin  # the lists around this one get it, too
        return printed[0] if len(printed) == 1 else self.keep_if_short("".join(printed))

    def _and_or(self, items: list[ListItem], state: State, stdin: str | None, printed: list[str]) -> int:
        """Follow commands joined by `&&` and `||`; append what each of them prints to `printed`.

        Returns the number of directory changes after which the directory is certain: those before, or before `|| exit`.
        """
        given, here = stdin, (state.cwd, state.cwd_certain, state.cd_count)
        before, settled = items[0], state.cd_count
        printed.append(self._item(before, state, stdin))
        chain: ChainStart | None = None
        guards: dict[str, list[Value] | None] = {}
        for item in items[1:]:
            if self.script.gave_up:
                return settled
            if state.pending_stdin is not None:
                stdin, state.pending_stdin = state.pending_stdin, None
            if item.operator == "||":
                if guards:
                    drop_facts(guards, state)
            else:
                self._after = item.operator
                if chain is None and not always_succeeds(before):
                    chain = ChainStart(state, before)
                    state.variables = Variables(state.variables)
            assume_nonempty(nonempty_if(before, succeeds=item.operator == "&&"), state, guards)
            moves = state.cd_count
            printed.append(self._run_chained(item, state, stdin, chain, before, here))
            if item.negated and state.cd_count != moves:
                state.cwd_certain = False
            self._output_partial = self._output_partial or bool(printed[-1])
            if exits(item.node):
                for name in nonempty_if(before, succeeds=item.operator == "||"):
                    state.assume_nonempty(name)
            if item.operator == "||":
                chain = None
                settled = state.cd_count if exits(item.node) else settled
            before = item
        if guards:
            drop_facts(guards, state)
        if chain is not None:
            self.charge(end_chain(chain, state, items[-2:]))
        if stdin is not given and state.pending_stdin is None:
            state.pending_stdin = stdin  # the next statement gets it, too
        return settled

    def _item(self, item: ListItem, state: State, stdin: str | None) -> str:
        """Follow a command or pipeline. A `cd` that must fail leaves the directory uncertain."""
        moves = state.cd_count
        printed = (
            self._in_background(item.node, state, stdin) if item.background else self.node(item.node, state, stdin)
        )
        if item.negated and state.cd_count != moves:
            state.cwd_certain = False
        return printed

    def _run_chained(
        self,
        item: ListItem,
        state: State,
        stdin: str | None,
        chain: ChainStart | None,
        before: ListItem,
        here: CwdState,
    ) -> str:
        """Follow a command after `&&` or `||`.

        `chain`: the variables before the first `&&`; `here`: the working directory before the statement.
        """
        if item.operator == "&&":
            self._choose(state)
            functions = state.functions
            printed = (self._in_background if item.background else self.node)(item.node, state, stdin)
            if chain is not None and state.functions is not functions:
                self.charge(COST_ENTRY * len(functions))
                state.mark_uncertain(functions)
            return printed
        done = state.fork()
        if chain is not None:
            self.charge(end_chain(chain, state, []))
        if item.background:
            return self._in_background(item.node, state, stdin)
        other, files = state.fork(), state.files.checkpoint()
        alone = not before.operator and not before.negated
        other.cwd, other.cwd_certain = here[0], alone and still_there(here, state, before)
        self._choose_found(other)
        printed = self.node(item.node, other, stdin)
        state.files.mark_uncertain(files)
        for name in nonempty_if(before, succeeds=True):
            done.assume_nonempty(name)
        state.cwd = here[0]
        if exits(item.node):
            self.charge(state.merge(done, stays=False))
        else:
            self.charge(state.merge(done, other, stays=False))
        return printed

    def node(self, node: Node, state: State, stdin: str | None) -> str:
        """Follow a command of any kind; return what it prints."""
        if isinstance(node, SimpleCommand):
            return self.simple(node, state, stdin)
        if isinstance(node, Pipeline):
            return self._pipeline(node, state, stdin)
        if not self.charge(COST_NODE):
            return UNKNOWN
        self._list_start, self._stdin = node, stdin
        opened: tuple[Redirection, ...] = ()
        pipes, sinks = self._pipes, len(self._pending_sinks)
        if node.redirects:
            opened, stdin = self.open_redirects(node.redirects, Expander(state, self), stdin)
            self._stdin = stdin
            self._pipes = self._redirected_pipes(opened)
        printed = self._compound(node, state, stdin)
        if opened:
            command = self.command((), node, state)
            command.redirects = opened
            self.record(command)
            printed = self.apply_redirects(command, printed, state)
            self._pipes = pipes
        self.run_pending_sinks(sinks, state)
        return printed

    def _pipeline(self, node: Pipeline, state: State, stdin: str | None) -> str:
        pipes, last = self._pipes, len(node.stages) - 1
        first = self.new_pipes(node, last)
        for number, stage in enumerate(node.stages):
            if stdin:
                self.charge(len(stdin))
            self._pipes = first + number - 1 if number else pipes[0], first + number if number < last else pipes[1]
            in_place = state.lastpipe and number == last
            stdin = self.node(stage, state if in_place else state.fork(), stdin)
        self._pipes = pipes
        return stdin or ""

    def _in_background(self, node: Node, state: State, stdin: str | None) -> str:
        """Follow a command in the background: it may not have written its files yet."""
        files = state.files.checkpoint()
        printed = self.node(node, state.fork(), stdin)
        state.files.mark_uncertain(files)
        return printed

    def _run_coprocess(self, node: Coprocess, state: State, stdin: str | None) -> str:
        """Follow a coprocess. The shell itself has the other ends of its pipes, by descriptors in a variable."""
        pipes, first = self._pipes, self.new_pipes(node, 2)
        self._pipes = self._coprocess = first, first + 1
        printed = self._in_background(node.command, state, stdin)
        self._pipes = pipes
        return printed

    def _compound(self, node: Node, state: State, stdin: str | None) -> str:
        match node:
            case Group():
                return (self.in_subshell if node.subshell else self.block)(node.body, state, stdin)
            case If():
                whole = not node.branches[-1][0].statements or any(
                    always_succeeds(condition.only_item) for condition, _ in node.branches
                )
                return self._branches(node.branches, state, stdin, stays=not whole)
            case Loop():
                return self._loop(node, state, stdin)
            case Case():
                return self._case(node, state, stdin)
            case Test():
                self._test(node, state)
            case ArithmeticCommand():
                expander = Expander(state, self)
                expander.arithmetic(expander.text(node.expression))
            case Function():
                self.define(node, state)
            case Coprocess():
                return self._run_coprocess(node, state, stdin)
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
        """Follow branches. `stays`: perhaps none is taken. `falling`: indexes of those after which another may run."""
        printed, after = "", self._after
        taken: list[State] = []
        fallen: State | None = None
        files, wrote, since, led_away = state.files, list[dict[str, Contents]](), -1, False
        for number, (condition, body) in enumerate(branches):
            if self.script.gave_up:
                return UNKNOWN
            before, mark = (state.cwd, state.cwd_certain, state.cd_count), files.checkpoint()
            self.block(condition, state, stdin)
            if number and since < 0 and files.checkpoint() > mark:
                since = mark
            mark = files.checkpoint()
            if condition.statements:
                self._after = ";"
            branch = state.fork()
            if state.cd_count != before[2]:
                split_cwd(branch, state, before, condition)
            if fallen is not None:
                self.charge(branch.merge(fallen))
            self._choose(branch)
            guards: dict[str, list[Value] | None] = {}
            assume_nonempty(nonempty_if_true(condition), branch, guards)
            printed += self.block(body, branch, stdin)
            wrote.append(files.rollback(mark))
            drop_facts(guards, branch)
            state.pending_stdin = branch.pending_stdin or state.pending_stdin
            if body.statements and exits(body.statements[-1].items[-1].node):
                led_away = True
            else:
                taken.append(branch)
            if number in falling:
                first = fallen is None
                fallen = fallen or state.fork()
                self.charge(fallen.merge(branch, stays=not first))  # into one: merging each with each is quadratic
                files.merge(wrote[-1])
        files.merge(*wrote, stays=stays)
        if since >= 0:
            files.mark_uncertain(since)
        self._after = after
        self._output_partial = self._output_partial or bool(printed)
        if len(branches) == 1:
            for name in nonempty_if_false(branches[0][0]):
                state.assume_nonempty(name)
        if taken:
            self.charge(state.merge(*taken, stays=stays))
        if led_away:
            self._choose_found(state)
        return printed

    def _choose(self, state: State) -> None:
        if state.loops:
            self.charge(50 * len(state.loops))
            state.choose()
        self._choose_found(state)

    def _choose_found(self, state: State) -> None:
        if state.in_find_loop and self.charge(COST_NODE):
            self.charge(state.choose_found_paths())

    def _loop(self, node: Loop, state: State, stdin: str | None) -> str:
        expander = Expander(state, self)
        if is_endless(node):
            self.script.fork_bombs.append(self._inside or (node.start, node.end))
        if node.expressions is not None:
            expander.arithmetic(expander.text(node.expressions))
        after, before, found = self._after, state.cd_count, state.in_find_loop
        if node.condition is not None:
            self.block(node.condition, state, stdin)
            self._after = ";"
            state.cwd_certain = (
                state.cwd_certain and state.cd_count == before
            )  # each iteration changes it again, and the last one fails
        if node.name:
            values = self._values(node, expander)
            if node.name in state.references:  # a nameref: it refers to each word in turn
                state.references = {name: each for name, each in state.references.items() if name != node.name}
                values = [UNKNOWN]
            state.variables[node.name] = limit_values(values) or [UNKNOWN]
            state.loops |= {node.name}
        read = _variables_of_read(node.condition)
        if any(ALL_FOUND in value for name in (node.name, *read) if name for value in state.variables.values_of(name)):
            state.in_find_loop = True
        printed = self._loop_body(node, state, stdin)
        state.in_find_loop = found
        for name in read:
            state.variables[name] = union(state.variables.values_of(name), [""])  # the last `read` was at EOF
        self._after = after
        self._output_partial = self._output_partial or bool(
            printed and not (node.name and is_single_command(node.body))
        )
        if node.name in state.loops:
            state.choose({node.name})  # after the loop it has its last value
        return printed

    def _values(self, node: Loop, expander: Expander) -> list[Value]:
        """Return the values that a loop's variable takes, for all values of the variables in its words."""
        values: list[Value] = []
        if node.words is None:
            lists = expander.state.arguments
            self.charge(merge_cost(lists))
            if ANY in lists or not lists:
                self.note_unknown("$@")
            values = [word for each in lists for word in each.words] or [UNKNOWN]
            return values if all(each.certain_args == MAX_ARGUMENTS for each in lists) else [*values, UNKNOWN_NONEMPTY]
        while True:
            for word in node.words:
                fields = expander.fields(word)
                values += fields
                if word.may_split and not all(map(is_fully_known, fields)):
                    values.append(UNKNOWN_NONEMPTY)  # an unknown field may be several words
            expander.choice += 1
            if expander.choice >= expander.choices or not self.charge(COST_FIELD * len(values)):
                return list(dict.fromkeys(values))

    def _loop_body(self, node: Loop, state: State, stdin: str | None) -> str:
        """Follow the body once; a second time, if the first leaves known values that were not there before.

        Variables that still change then may have any value afterwards. The body may also not run at all.
        """
        body, surely = node.body, _runs_at_least_once(node)
        before, cwd, first, arguments = state.variables, state.cwd, len(self.script.commands), state.arguments
        moves, functions, files = state.cd_count, state.functions, state.files.checkpoint()
        state.variables = Variables(before)
        printed = self.block(body, state, stdin)
        moved = state.cd_count != moves or state.arguments != arguments or state.functions is not functions
        if (
            not self._is_second_round
            and not self.script.gave_up
            and not self._runs_at_most_once(node)
            and (moved or self._has_new_values(state.variables.own, before))
        ):
            self._is_second_round = True
            state.cwd_certain = state.cwd_certain and state.cwd == cwd
            shifted, once = state.arguments, Variables()
            once.own = dict(state.variables.own)
            self.block(body, state, stdin)
            if state.arguments != shifted:  # another `shift`: there may be any number of them
                left = all_shifts(shifted)
                self.charge(merge_cost(left))
                state.arguments = merge_lists(
                    left if set(left).issuperset(state.arguments) else state.arguments, (ANY,)
                )
                self.block(body, state, stdin)
            self._is_second_round = False
            drop_known(self.script.commands, first, set())
            for name, values in state.variables.own.items():
                if values and self._has_new_values({name: values}, once):
                    state.variables.own[name] = [*values, UNKNOWN_NONEMPTY]
        if not surely:
            state.files.mark_uncertain(files)
        changed, state.variables = state.variables, before
        self.charge(before.merge(changed, stays=not surely))
        if not surely:
            self.charge(state.merge_arguments(state.arguments, arguments))
        return printed

    def _runs_at_most_once(self, node: Loop) -> bool:
        """Tell whether the body runs at most once: for a single word, or up to a `break` at its end."""
        if node.words is not None:
            return len(node.words) == 1 and node.words[0].literal is not None
        last = node.body.statements[-1].items if node.body.statements else []
        breaks = len(last) == 1 and isinstance(last[0].node, SimpleCommand) and last[0].node.name == "break"
        return breaks and "continue" not in self.script.text

    def _has_new_values(self, changed: dict[str, list[Value] | None], before: Variables) -> bool:
        """Tell whether a variable has a value, at least partly known, that it did not have before."""
        return any(
            value not in before.values_of(name) and value not in (UNKNOWN, UNKNOWN_NONEMPTY)
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
        whole = any(each.unquoted_text() == "*" for patterns, _ in node.arms for each in patterns)
        arms = [(Block(), body) for _, body in node.arms]
        return self._branches(arms, state, stdin, stays=not whole, falling=node.fallthrough)

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
                state.set("BASH_REMATCH", regex_groups(texts[index - 1], texts[index + 1]))


def _variables_of_read(condition: Block | None) -> list[str]:
    """Return the variables of `while read x y`."""
    simple = [item.node for item in condition.items if isinstance(item.node, SimpleCommand)] if condition else []
    words = [
        word.unquoted_text()
        for node in simple
        if node.name == "read"
        for word in node.words[1:]
        if isinstance(word, Word)
    ]
    return [word for word in words if word and word.isidentifier()]


def _runs_at_least_once(node: Loop) -> bool:
    """Tell whether the body certainly runs."""
    if node.condition is None:
        return node.words is None or any(not word.parts or isinstance(word.parts[0], Literal) for word in node.words)
    return always_succeeds(node.condition.only_item)
