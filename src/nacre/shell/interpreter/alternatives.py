"""Alternatives of a command whose variables may have one value or another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.state import State
from nacre.shell.paths import common_parent_glob

MAX_COMBINATIONS = 16
"""Combinations of the values of several variables, up to which all are followed."""


class Checkpoint:
    """The parts of a state that differ between the alternatives of a command."""

    __slots__ = ("cwd", "cwd_certain", "lists", "variables")

    def __init__(self, state: State) -> None:
        self.variables, self.lists = state.variables, state.arguments.lists
        self.cwd, self.cwd_certain = state.cwd, state.cwd_certain

    def restore(self, state: State) -> None:
        state.variables = self.variables
        if state.arguments.lists is not self.lists:
            state.arguments = state.arguments.replace_values(lists=self.lists)
        state.cwd, state.cwd_certain = self.cwd, self.cwd_certain

    def merge(self, alternatives: list[Checkpoint], state: State) -> int:
        """Continue after all of these alternatives, which began here. Return the cost of merging, in characters."""
        alternatives[-1].restore(state)
        state.variables = self.variables
        spent = self.variables.merge(*(way.variables for way in alternatives), stays=False)
        spent += state.merge_arguments(*(way.lists for way in alternatives))
        if any(way.cwd != state.cwd for way in alternatives):
            place = common_parent_glob([way.cwd for way in alternatives])
            state.cwd, state.cwd_certain = place or state.cwd, bool(place)
        state.cwd_certain = state.cwd_certain and all(way.cwd_certain for way in alternatives)
        return spent


def each_choice(expander: Expander) -> Iterator[None]:
    """Select one alternative after another: the first values of all variables, the second ones, …

    If there are few variables with few values, every combination follows.
    """
    yield
    while expander.choice + 1 < expander.choices:
        expander.choice += 1
        yield
    if len(expander.alternatives) > 1 and prod(expander.alternatives.values()) <= MAX_COMBINATIONS:
        for each in product(*map(range, expander.alternatives.values())):
            if len(set(each)) > 1:
                expander.pick(each)
                yield
