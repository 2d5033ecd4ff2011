"""Lists and branches: what holds after a command that may have failed or may not have run."""

from __future__ import annotations

from typing import TypeAlias

from nacre.shell.interpreter.budget import Budget
from nacre.shell.interpreter.state import State
from nacre.shell.symbolic import UNKNOWN_NONEMPTY
from nacre.shell.syntax.nodes import AndOr, Block, Group, ListItem, Node, SimpleCommand
from nacre.shell.syntax.nonempty_tests import nonempty_if
from nacre.shell.values.values import Value

COST_NODE = 200
"""Cost, in characters, of following a compound command, in addition to the commands in it."""

CwdState: TypeAlias = tuple[str, bool, int]
"""The working directory at the start of a list, whether it is certain, and the number of directory changes so far."""


def still_there(place: CwdState, state: State, item: ListItem) -> bool:
    """Tell whether the directory is certainly still the same if this item has failed."""
    _, settled, moves = place
    return settled and (state.cd_count == moves or _is_cd(item))


def split_cwd(branch: State, state: State, before: CwdState, condition: Block) -> None:
    """Set the directories after a condition that changes it: in the branch, and where the branch is not taken."""
    only = condition.only_item
    if only is not None and only.negated:
        branch.cwd, branch.cwd_certain = before[0], still_there(before, state, only)
        state.cwd_certain = before[1] and _is_cd(only)
    else:
        state.cwd, state.cwd_certain = before[0], only is not None and still_there(before, state, only)


def _is_cd(item: ListItem) -> bool:
    """Tell whether the command either changes the directory or fails and does nothing."""
    return isinstance(item.node, SimpleCommand) and item.node.name in ("cd", "pushd", "popd")


def assume_nonempty(names: tuple[str, ...], state: State, guards: dict[str, list[Value] | None]) -> None:
    """Note that a test has shown these variables not to be empty. Their old values go to `guards` if that is new."""
    for name in names:
        before = state.variables.get(name)
        state.assume_nonempty(name)
        if state.variables.get(name) is not before or name.isdigit():
            guards.setdefault(name, before)


def drop_facts(guards: dict[str, list[Value] | None], state: State) -> None:
    """Drop what a test has shown, where nothing else was set since."""
    if state.arguments.nonempty:
        state.arguments = state.arguments.replace_values(nonempty=state.arguments.nonempty - guards.keys())
    for name, values in guards.items():
        if UNKNOWN_NONEMPTY in state.variables.values_of(name):
            state.variables.own[name] = values
    guards.clear()


class ChainStart:
    """The state before the first `&&` of a list."""

    __slots__ = ("aliases", "attributes", "files", "first", "lists", "options", "variables")

    def __init__(self, state: State, first: ListItem) -> None:
        self.first = first
        self.variables, self.attributes, self.lists = state.variables, state.attributes, state.arguments.lists
        self.aliases, self.options, self.files = state.aliases, state.options, state.files.checkpoint()


def end_chain(before: ChainStart, state: State, last: list[ListItem]) -> int:
    """End a chain such as `a && x=1`: what was set after `&&` may not have been.

    `last`: the last two items, which may be the whole chain; empty if another command follows.
    Returns the cost of merging, in characters.
    """
    chain, done = before.variables, state.variables
    exported, options = state.attributes.exported & before.attributes.exported, before.options
    state.variables, state.attributes = chain, state.attributes.replace_values(exported=exported)
    spent = state.merge_arguments(state.arguments.lists, before.lists)
    spent += state.mark_uncertain_aliases(before.aliases)
    state.files.mark_uncertain(before.files)
    if options is not state.options:
        now = state.options
        state.options = now.replace_values(
            errexit=now.errexit and options.errexit,
            nounset=now.nounset and options.nounset,
            expands_aliases=now.expands_aliases if now.expands_aliases is options.expands_aliases else None,
        )
    if len(last) == 2 and last[0] is before.first:
        for name in nonempty_if(last[0], succeeds=False):
            if name in done.own:  # `[ -z "$x" ] && x=1`, or `&& exit`
                state.assume_nonempty(name)
    spent += chain.merge(done, stays=True)
    return spent + state.mark_uncertain_references(before.attributes.references)


def always_succeeds(item: ListItem | None) -> bool:
    """Tell whether a command certainly succeeds."""
    return item is not None and isinstance(item.node, SimpleCommand) and item.node.name in ("true", ":")


def exits(node: Node) -> bool:
    """Tell whether nothing after a command runs: `exit`, `return`, also at the end of a group."""
    while isinstance(node, Group) and node.body.statements:
        node = node.body.statements[-1].last.node
    return isinstance(node, SimpleCommand) and node.name in ("exit", "return", "continue", "break")


def may_exit(statement: AndOr) -> bool:
    """Tell whether nothing after a statement runs if one of its conditions is met: `test … && exit`."""
    return any(exits(item.node) for item in statement.rest)


def choose(state: State, budget: Budget) -> None:
    """Note that a condition was met: loop variables and found paths no longer stand for all that there is."""
    if state.loops:
        budget.charge(50 * len(state.loops))
        state.choose()
    choose_found(state, budget)


def choose_found(state: State, budget: Budget) -> None:
    """Note that a condition was met: found paths are no longer all that was found."""
    if state.in_find_loop and budget.charge(COST_NODE):
        budget.charge(state.choose_found_paths())
