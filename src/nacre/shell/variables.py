"""Assignments: what a variable's value is, and what it becomes."""

from __future__ import annotations

import re

from nacre.patterns import later
from nacre.shell.expand import Expander
from nacre.shell.many import Value
from nacre.shell.state import KEYED
from nacre.shell.syntax import Assignment, Literal, Word
from nacre.shell.text import UNKNOWN

_KEY = later(r"\[(.*?)\]\+?=(.*)", re.DOTALL)


def assigned_value(assignment: Assignment, expander: Expander) -> Value:
    if assignment.subscript is not None:
        subscript = expander.text(assignment.subscript)
        if assignment.name not in expander.state.maps:
            expander.arithmetic(subscript)
    if assignment.elements is None:
        return expander.text(assignment.value)
    found: list[str] = []
    for word in assignment.elements:
        found += _element(word, expander, arithmetic=assignment.name not in expander.state.maps)
    return tuple(found)


def _element(word: Word, expander: Expander, *, arithmetic: bool) -> list[str]:
    match word.parts:
        case [Literal(text="[", quoted=False), *_] if keyed := _KEY.fullmatch(expander.text(word)):
            if arithmetic:
                expander.arithmetic(keyed[1])
            return [keyed[1] + KEYED + keyed[2]]
    return expander.fields(word)


def assign(expander: Expander, assignment: Assignment, value: Value) -> None:
    state, name = expander.state, assignment.name
    name = state.references.get(name, name)
    old = state.variables.get(name)
    if name in state.integers and isinstance(value, str):
        expander.arithmetic(value)
    if assignment.subscript is not None:
        before = old[0] if old and isinstance(old[0], tuple) else ()
        expander.runs.spend(len(before) // 4)
        text = value if isinstance(value, str) else " ".join(value)
        state.set(name, (*before, expander.text(assignment.subscript) + KEYED + text))
    elif assignment.append and old:
        state.variables[name] = [_appended(each, value, expander) for each in old]
    elif assignment.append:
        state.set(name, value if isinstance(value, tuple) else UNKNOWN + value)
    else:
        state.set(name, value)


def _appended(old: Value, value: Value, expander: Expander) -> Value:
    if isinstance(old, tuple):
        return old + (value if isinstance(value, tuple) else (value,))
    return (old, *value) if isinstance(value, tuple) else expander.runs.kept(old + value)
