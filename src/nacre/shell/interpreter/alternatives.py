"""The ways that a command may go, where its variables may have one value or another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.state import State, around

TOGETHER = 16
"""Combinations of the values of several variables, up to which all are followed."""


class Here:
    """What a command changes in a state, of which one way or another may be gone."""

    __slots__ = ("arguments", "cwd", "settled", "variables")

    def __init__(self, state: State) -> None:
        self.variables, self.arguments = state.variables, state.arguments
        self.cwd, self.settled = state.cwd, state.settled

    def restore(self, state: State) -> None:
        state.variables, state.arguments = self.variables, self.arguments
        state.cwd, state.settled = self.cwd, self.settled

    def join(self, ways: list[Here], state: State) -> int:
        """From here all of these ways led on. Gives what it counts as, in characters, to put them together."""
        ways[-1].restore(state)
        state.variables = self.variables
        spent = self.variables.join(*(way.variables for way in ways), stays=False)
        spent += state.join_arguments(*(way.arguments for way in ways))
        if any(way.cwd != state.cwd for way in ways):
            place = around([way.cwd for way in ways])
            state.cwd, state.settled = place or state.cwd, bool(place)
        state.settled = state.settled and all(way.settled for way in ways)
        return spent


def choices(expander: Expander) -> Iterator[None]:
    """Let it take one way after another: the first values of all variables, the second ones, …; and where there are few
    variables of few values, every combination."""
    yield
    while expander.choice + 1 < expander.choices:
        expander.choice += 1
        yield
    if len(expander.several) > 1 and prod(expander.several.values()) <= TOGETHER:
        for each in product(*map(range, expander.several.values())):
            if len(set(each)) > 1:
                expander.pick(each)
                yield
