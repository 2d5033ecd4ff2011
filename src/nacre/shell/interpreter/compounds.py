"""Follow compound commands: every branch, and each loop once with all values its variable may have."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import MAX_ARGUMENTS, drop_known
from nacre.shell.frame import Frame
from nacre.shell.interpreter.control_flow import (
    always_succeeds,
    assume_nonempty,
    choose,
    choose_found,
    drop_facts,
    exits,
    split_cwd,
)
from nacre.shell.interpreter.expand import COST_FIELD, Expander
from nacre.shell.interpreter.fork_bombs import is_endless
from nacre.shell.interpreter.state import State
from nacre.shell.interpreter.substitutions import is_single_command
from nacre.shell.symbolic import ALL_FOUND, UNKNOWN, UNKNOWN_NONEMPTY, is_fully_known
from nacre.shell.syntax.nodes import (
    ArithmeticCommand,
    Block,
    Case,
    Coprocess,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Node,
    SimpleCommand,
    Test,
    Word,
)
from nacre.shell.syntax.nonempty_tests import nonempty_if_false, nonempty_if_true
from nacre.shell.values.files import Contents
from nacre.shell.values.positional import ANY, all_shifts, merge_cost, merge_lists
from nacre.shell.values.values import Value, limit_values, union
from nacre.shell.values.variables import Variables

if TYPE_CHECKING:
    from nacre.shell.interpreter.interpreter import Interpreter

_ONE_GROUP = lazy_regex(r"(\^?)([\w :/=@,-]*)\(\.([*+])\)([\w :/=@,-]*)(\$?)")
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


class CompoundRunner:
    """Follows compound commands; `Interpreter` follows the lists in them."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._budget = interpreter.budget
        self._script = interpreter.script

    def follow(self, node: Node, state: State, frame: Frame) -> str:
        """Follow a compound command after its redirections; return what it prints."""
        interpreter = self._interpreter
        match node:
            case Group():
                if node.subshell:
                    return interpreter.scripts.in_subshell(node.body, state, frame)
                return interpreter.block(node.body, state, frame)
            case If():
                whole = not node.branches[-1][0].statements or any(
                    always_succeeds(condition.only_item) for condition, _ in node.branches
                )
                return self._branches(node.branches, state, frame, stays=not whole)
            case Loop():
                return self._loop(node, state, frame)
            case Case():
                return self._case(node, state, frame)
            case Test():
                self._test(node, state, frame)
            case ArithmeticCommand():
                expander = Expander(state, interpreter, frame, node)
                expander.arithmetic(expander.text(node.expression))
            case Function():
                interpreter.functions.define(node, state, frame)
            case Coprocess():
                return self._coprocess(node, state, frame)
        return ""

    def _coprocess(self, node: Coprocess, state: State, frame: Frame) -> str:
        """Follow a coprocess. The shell itself has the other ends of its pipes, by descriptors in a variable."""
        pipes = self._interpreter.pipes
        first = pipes.add(node, 2, frame.pipes)
        pipes.coprocess = first, first + 1
        return self._interpreter.in_background(node.command, state, frame.with_pipes(pipes.coprocess, frame.stdin))

    def _branches(
        self,
        branches: list[tuple[Block, Block]],
        state: State,
        frame: Frame,
        *,
        stays: bool,
        falling: Set[int] = frozenset(),
    ) -> str:
        """Follow branches. `stays`: perhaps none is taken. `falling`: indexes of those after which another may run."""
        printed, block = "", self._interpreter.block
        taken: list[State] = []
        fallen: State | None = None
        files, wrote, since, led_away = state.files, list[dict[str, Contents]](), -1, False
        for number, (condition, body) in enumerate(branches):
            if self._script.gave_up:
                return UNKNOWN
            before, mark = (state.cwd, state.cwd_certain, state.cd_count), files.checkpoint()
            block(condition, state, frame)
            if number and since < 0 and files.checkpoint() > mark:
                since = mark
            mark = files.checkpoint()
            if condition.statements:
                frame = frame.with_operator(";")
            branch = state.fork()
            if state.cd_count != before[2]:
                split_cwd(branch, state, before, condition)
            if fallen is not None:
                self._budget.charge(branch.merge(fallen))
            choose(branch, self._budget)
            guards: dict[str, list[Value] | None] = {}
            assume_nonempty(nonempty_if_true(condition), branch, guards)
            printed += block(body, branch, frame)
            wrote.append(files.rollback(mark))
            drop_facts(guards, branch)
            state.pending_stdin = branch.pending_stdin or state.pending_stdin
            if body.statements and exits(body.statements[-1].last.node):
                led_away = True
            else:
                taken.append(branch)
            if number in falling:
                first = fallen is None
                fallen = fallen or state.fork()
                # into one: merging each with each is quadratic
                self._budget.charge(fallen.merge(branch, stays=not first))
                files.merge(wrote[-1])
        files.merge(*wrote, stays=stays)
        if since >= 0:
            files.mark_uncertain(since)
        if printed:
            frame.mark_partial()
        if len(branches) == 1:
            for name in nonempty_if_false(branches[0][0]):
                state.assume_nonempty(name)
        if taken:
            self._budget.charge(state.merge(*taken, stays=stays))
        if led_away:
            choose_found(state, self._budget)
        return printed

    def _loop(self, node: Loop, state: State, frame: Frame) -> str:
        expander = Expander(state, self._interpreter, frame, node)
        if is_endless(node):
            self._script.fork_bombs.append(frame.span or (node.start, node.end))
        if node.expressions is not None:
            expander.arithmetic(expander.text(node.expressions))
        before, found = state.cd_count, state.in_find_loop
        if node.condition is not None:
            self._interpreter.block(node.condition, state, frame)
            frame = frame.with_operator(";")
            state.cwd_certain = (
                state.cwd_certain and state.cd_count == before
            )  # each iteration changes it again, and the last one fails
        if node.name:
            values = self._values(node, expander)
            if node.name in state.attributes.references:  # a nameref: it refers to each word in turn
                kept = {name: each for name, each in state.attributes.references.items() if name != node.name}
                state.attributes = state.attributes.replace_values(references=kept)
                values = [UNKNOWN]
            state.variables[node.name] = limit_values(values) or [UNKNOWN]
            state.loops |= {node.name}
        read = _variables_of_read(node.condition)
        if any(ALL_FOUND in value for name in (node.name, *read) if name for value in state.variables.values_of(name)):
            state.in_find_loop = True
        printed = self._loop_body(node, state, frame)
        state.in_find_loop = found
        for name in read:
            state.variables[name] = union(state.variables.values_of(name), [""])  # the last `read` was at EOF
        if printed and not (node.name and is_single_command(node.body)):
            frame.mark_partial()
        if node.name in state.loops:
            state.choose({node.name})  # after the loop it has its last value
        return printed

    def _values(self, node: Loop, expander: Expander) -> list[Value]:
        """Return the values that a loop's variable takes, for all values of the variables in its words."""
        values: list[Value] = []
        if node.words is None:
            lists = expander.state.arguments.lists
            self._budget.charge(merge_cost(lists))
            if ANY in lists or not lists:
                self._budget.note_unknown("$@")
            values = [word for each in lists for word in each.words] or [UNKNOWN]
            return values if all(each.certain_args == MAX_ARGUMENTS for each in lists) else [*values, UNKNOWN_NONEMPTY]
        while True:
            for word in node.words:
                fields = expander.fields(word)
                values += fields
                if word.may_split and not all(map(is_fully_known, fields)):
                    values.append(UNKNOWN_NONEMPTY)  # an unknown field may be several words
            expander.choice += 1
            if expander.choice >= expander.choices or not self._budget.charge(COST_FIELD * len(values)):
                return list(dict.fromkeys(values))

    def _loop_body(self, node: Loop, state: State, frame: Frame) -> str:
        """Follow the body once; a second time, if the first leaves known values that were not there before.

        Variables that still change then may have any value afterwards. The body may also not run at all.
        """
        body, surely = node.body, _runs_at_least_once(node)
        before, cwd, first, arguments = state.variables, state.cwd, len(self._script.commands), state.arguments.lists
        moves, functions, files = state.cd_count, state.functions.bodies, state.files.checkpoint()
        state.variables = Variables(before)
        printed = self._interpreter.block(body, state, frame)
        moved = state.cd_count != moves or state.arguments.lists != arguments or state.functions.bodies is not functions
        if (
            not frame.in_second_round
            and not self._script.gave_up
            and not self._runs_at_most_once(node)
            and (moved or _has_new_values(state.variables.own, before))
        ):
            again = frame.for_second_round()
            state.cwd_certain = state.cwd_certain and state.cwd == cwd
            shifted, once = state.arguments.lists, Variables()
            once.own = dict(state.variables.own)
            self._interpreter.block(body, state, again)
            if state.arguments.lists != shifted:  # another `shift`: there may be any number of them
                left = all_shifts(shifted)
                self._budget.charge(merge_cost(left))
                lists = state.arguments.lists
                lists = merge_lists(left if set(left).issuperset(lists) else lists, (ANY,))
                state.arguments = state.arguments.replace_values(lists=lists)
                self._interpreter.block(body, state, again)
            drop_known(self._script.commands, first, set())
            for name, values in state.variables.own.items():
                if values and _has_new_values({name: values}, once):
                    state.variables.own[name] = [*values, UNKNOWN_NONEMPTY]
        if not surely:
            state.files.mark_uncertain(files)
        changed, state.variables = state.variables, before
        self._budget.charge(before.merge(changed, stays=not surely))
        if not surely:
            self._budget.charge(state.merge_arguments(state.arguments.lists, arguments))
        return printed

    def _runs_at_most_once(self, node: Loop) -> bool:
        """Tell whether the body runs at most once: for a single word, or up to a `break` at its end."""
        if node.words is not None:
            return len(node.words) == 1 and node.words[0].literal is not None
        last = node.body.statements[-1] if node.body.statements else None
        if last is None or last.rest:
            return False
        breaks = isinstance(last.node, SimpleCommand) and last.node.name == "break"
        return breaks and "continue" not in self._script.text

    def _case(self, node: Case, state: State, frame: Frame) -> str:
        expander = Expander(state, self._interpreter, frame, node)
        expander.text(node.word)
        for patterns, _ in node.arms:
            for each in patterns:
                expander.text(each)
        whole = any(each.unquoted_text() == "*" for patterns, _ in node.arms for each in patterns)
        arms = [(Block(), body) for _, body in node.arms]
        return self._branches(arms, state, frame, stays=not whole, falling=node.fallthrough)

    def _test(self, node: Test, state: State, frame: Frame) -> None:
        expander = Expander(state, self._interpreter, frame, node)
        texts = [expander.text(word) for word in node.words]
        for index, text in enumerate(texts):
            if text in _COMPARES:
                for operand in texts[max(0, index - 1) : index + 2 : 2]:
                    expander.arithmetic(operand)
            elif text == "-v" and index + 1 < len(texts):
                expander.subscripts(texts[index + 1])
            elif text == "=~" and 0 < index < len(texts) - 1:
                state.set("BASH_REMATCH", _regex_groups(texts[index - 1], texts[index + 1]))


def _has_new_values(changed: dict[str, list[Value] | None], before: Variables) -> bool:
    """Tell whether a variable has a value, at least partly known, that it did not have before."""
    return any(
        value not in before.values_of(name) and value not in (UNKNOWN, UNKNOWN_NONEMPTY)
        for name, values in changed.items()
        if name != "_"
        for value in values or ()
    )


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


def _regex_groups(text: str, regex: str) -> tuple[str, ...]:
    """Return BASH_REMATCH after `=~`; unknown unless the regex is one group between plain words."""
    form = _ONE_GROUP.fullmatch(regex) if is_fully_known(text) and is_fully_known(regex) else None
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
