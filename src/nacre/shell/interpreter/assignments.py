"""Assignments: expand the value, and store it in a variable."""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.state import State
from nacre.shell.symbolic import KEYED, UNKNOWN_NONEMPTY, mark_globs, to_source
from nacre.shell.syntax.nodes import Assignment, Literal, Word
from nacre.shell.values.arrays import elements, rebuild_cost, store_value, to_ordered
from nacre.shell.values.values import Value

COST_APPEND = 3
"""Cost, in characters, of copying an element into a longer array."""
_KEY = lazy_regex(r"\[(.*?)\](\+?)=(.*)", re.DOTALL)
_NUMBER = lazy_regex(r"-?[0-9]+")


def assigned_value(assignment: Assignment, expander: Expander) -> Value:
    """Expand the right side of an assignment to a text or, for `name=(…)`, to the elements of an array."""
    mapped = assignment.name in expander.state.attributes.maps
    if assignment.subscript is not None:
        subscript = expander.text(assignment.subscript)
        if not mapped:
            expander.arithmetic(subscript)
    if assignment.elements is None:
        return expander.text(assignment.value, assigned=True)
    found: list[str] = []
    for word in assignment.elements:
        found += _element(word, expander, arithmetic=not mapped)
    if mapped and not any(KEYED in each for each in found):  # `(key value key value)`
        return tuple(key + KEYED + text for key, text in zip(found[::2], [*found[1::2], ""], strict=False))
    if any(KEYED in each for each in found) and not assignment.append:
        return to_ordered(elements(tuple(found)), mapped=mapped)
    return tuple(found)


def _element(word: Word, expander: Expander, *, arithmetic: bool) -> list[str]:
    match word.parts:
        case [Literal(text="[", quoted=False), *_] if keyed := _KEY.fullmatch(expander.text(word)):
            if arithmetic:
                expander.arithmetic(keyed[1])
            return [keyed[1] + KEYED + keyed[3]]
        case [Literal(text="[", quoted=False), *_]:
            return [mark_globs(expander.text(word))]
    return expander.fields(word)


def assign(expander: Expander, assignment: Assignment, value: Value) -> None:
    """Store the value of an assignment in its variable."""
    state = expander.state
    name = state.attributes.references.get(assignment.name, assignment.name)
    if isinstance(value, tuple):
        old = state.variables.get(name) if assignment.append else None
        expander.interpreter.budget.charge(COST_APPEND * sum(len(value) + len(each) for each in old) if old else 0)
        state.variables[name] = [_append_elements(each, value, expander, name) for each in old] if old else [value]
        return
    key = None if assignment.subscript is None else expander.text(assignment.subscript)
    _put(expander, name, key, value, append=assignment.append)


def store(expander: Expander, target: str, text: str, *, append: bool = False) -> None:
    """Store the text that a builtin puts into a variable: `read x`, `printf -v x`, `read "x[1]"`."""
    target = to_source(target)
    name, bracket, key = target.partition("[")
    if bracket:
        expander.expand_again(target)
    name = expander.state.attributes.references.get(name, name)
    _put(expander, name, key.removesuffix("]") if bracket else None, text, append=append)


def convert_value(state: State, name: str, text: str, *, append: bool = False) -> str:
    """Convert a text according to the attributes of a variable: to a number (`declare -i`), to capitals (`-u`)."""
    if name in state.attributes.integers:
        return text if _NUMBER.fullmatch(text) and not append else UNKNOWN_NONEMPTY
    return state.attributes.cases[name](text) if name in state.attributes.cases else text


def _put(expander: Expander, name: str, key: str | None, text: str, *, append: bool) -> None:
    state = expander.state
    if name in state.attributes.integers:
        expander.arithmetic(text)
        text, append = convert_value(state, name, text, append=append), False
    elif name in state.attributes.cases:
        text = convert_value(state, name, text)
    old = state.variables.get(name)
    if key is None and not append and (not old or all(isinstance(each, str) for each in old)):
        state.set(name, text)
        return
    mapped = name in state.attributes.maps
    found: list[Value] = []
    before: list[Value | None] = [*old] if old else [None]
    for each in before:
        expander.interpreter.budget.charge(rebuild_cost(each))
        value = store_value(each, key, text, append=append, mapped=mapped)
        found.append(expander.interpreter.budget.keep_if_short(value) if isinstance(value, str) else value)
    state.variables[name] = found


def _append_elements(old: Value, value: tuple[str, ...], expander: Expander, name: str) -> Value:
    both = (old, *value) if isinstance(old, str) else old + value
    if not any(KEYED in each for each in both):
        return both
    expander.interpreter.budget.charge(rebuild_cost(both))
    return to_ordered(elements(both), mapped=name in expander.state.attributes.maps)
