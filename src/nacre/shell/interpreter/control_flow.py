"""Lists and branches: what holds after a command that may have failed, or that may not have run."""

from __future__ import annotations

from typing import TypeAlias

from nacre.shell.interpreter.nonempty_tests import proven
from nacre.shell.interpreter.state import State
from nacre.shell.symbolic import SOME
from nacre.shell.syntax.nodes import Block, Group, Item, Node, Simple
from nacre.shell.values.values import Value

Place: TypeAlias = tuple[str, bool, int]
"""Where a list begins: the directory, whether it is settled, and how many moves there were."""


def is_left(place: Place, state: State, item: Item) -> bool:
    """Whether it is surely still there if this item has failed."""
    _, settled, moves = place
    return settled and (state.moves == moves or _is_cd(item))


def part(branch: State, state: State, before: Place, condition: Block) -> None:
    """Where it is after a condition that moves: in the branch, and where that is not taken."""
    only = condition.items[0] if len(condition.items) == 1 else None
    if only is not None and only.negated:
        branch.cwd, branch.settled = before[0], is_left(before, state, only)
        state.settled = before[1] and _is_cd(only)
    else:
        state.cwd, state.settled = before[0], only is not None and is_left(before, state, only)


def _is_cd(item: Item) -> bool:
    """It changes the directory, or fails and does nothing."""
    return isinstance(item.node, Simple) and item.node.name in ("cd", "pushd", "popd")


def require_shown(names: tuple[str, ...], state: State, guards: dict[str, list[Value] | None]) -> None:
    """A test has shown these not to be empty. `guards`: what they were, if that was more than was known."""
    for name in names:
        before = state.variables.get(name)
        state.require(name)
        if state.variables.get(name) is not before or name.isdigit():
            guards.setdefault(name, before)


def lift(guards: dict[str, list[Value] | None], state: State) -> None:
    """What a test has shown no longer holds, where nothing else was set since."""
    state.given -= guards.keys()
    for name, values in guards.items():
        if SOME in state.variables.of(name):
            state.variables.own[name] = values
    guards.clear()


class Before:
    """What was known before the first `&&` of a list."""

    __slots__ = (
        "aliases", "arguments", "expands_aliases", "files", "first", "nounset", "passed", "references", "strict",
        "variables",
    )  # fmt: skip

    def __init__(self, state: State, first: Item) -> None:
        self.first = first
        self.variables, self.passed, self.arguments = state.variables, state.passed, state.arguments
        self.aliases, self.expands_aliases, self.references = state.aliases, state.expands_aliases, state.references
        self.strict, self.nounset, self.files = state.strict, state.nounset, state.written.mark()


def end_chain(before: Before, state: State, last: list[Item]) -> int:
    """Of `a && x=1`: what was set after `&&` may not have been. `last`: the items of a chain of two. Gives what it
    counts as, in characters, to put both together."""
    chain, done = before.variables, state.variables
    state.variables, state.passed = chain, state.passed & before.passed
    spent = state.join_arguments(state.arguments, before.arguments)
    spent += state.doubt_aliases(before.aliases)
    if before.expands_aliases is not state.expands_aliases:
        state.expands_aliases = None
    state.written.doubt(before.files)
    state.strict, state.nounset = state.strict and before.strict, state.nounset and before.nounset
    if len(last) == 2 and last[0] is before.first:
        for name in proven(last[0], succeeds=False):
            if name in done.own:  # `[ -z "$x" ] && x=1`, or `&& exit`
                state.require(name)
    spent += chain.join(done, stays=True)
    return spent + state.doubt_references(before.references)


def always(items: list[Item]) -> bool:
    """Whether it surely succeeds."""
    return len(items) == 1 and isinstance(items[0].node, Simple) and items[0].node.name in ("true", ":")


def leaves(node: Node) -> bool:
    """`exit`, `return`, also at the end of a group: nothing after it runs."""
    while isinstance(node, Group) and node.body.items:
        node = node.body.items[-1].node
    return isinstance(node, Simple) and node.name in ("exit", "return", "continue", "break")
