"""Apply the operators of `${x…}` to a value: defaults, patterns, slices, conversions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import MAX_ARGUMENTS
from nacre.shell.quoting import escape_arg
from nacre.shell.symbolic import STAR, UNKNOWN, UNKNOWN_NONEMPTY, has_glob, is_fully_known, origin_marker
from nacre.shell.syntax.escapes import ansi_c
from nacre.shell.syntax.nodes import Literal, ParameterExpansion, Part, Word
from nacre.shell.values.parameters import (
    capital,
    change_case,
    pattern_cost,
    replace_pattern,
    slice_value,
    trim_pattern,
)
from nacre.shell.values.values import Value, union

if TYPE_CHECKING:
    from nacre.shell.interpreter.expand import Expander

_NAME = lazy_regex(r"[A-Za-z_]\w*", re.ASCII)
_OFFSET = lazy_regex(r"\s*+(-?[0-9]{0,18})\s*+(?::\s*+(-?[0-9]{1,18})\s*+)?$")
_EXTENDED = lazy_regex(r"[?*+@!]\(")
_PATTERN_STEPS_PER_CHAR = 10
"""Steps of matching a pattern that cost as much as one character."""


def apply_operator(expander: Expander, part: ParameterExpansion, value: Value | None) -> Value:
    """Return the value of `${x…}` with an operator, given that of `$x`; None if it is not known to be set."""
    operator, argument = part.operator, part.argument
    assert argument is not None
    if operator[-1] in "-=":
        other = expander.text(argument)
        if (
            value is None
            or (operator[0] == ":" and value in ("", ()))
            or value == ()
            or id(part) in expander.assigned_parts
        ):
            if operator[-1] == "=":
                known = expander.state.variables.values_of(part.name) if id(part) in expander.assigned_parts else []
                expander.state.variables[part.name] = union(known, [other])
                expander.assigned_parts.add(id(part))
            return other
        return (
            expander.either(key_of(part), UNKNOWN_NONEMPTY, other) if value == UNKNOWN and operator[0] == ":" else value
        )
    if operator[-1] == "+":
        other = expander.text(argument)
        if value is None or value == UNKNOWN:
            return expander.either(key_of(part), other, "")
        return "" if operator[0] == ":" and value in ("", ()) else other
    if operator[-1] == "?":
        expander.text(argument)
        if operator == ":?" and part.subscript is None and _NAME.fullmatch(part.name):
            expander.state.assume_nonempty(part.name)
        return UNKNOWN_NONEMPTY if value is None or value in ("", UNKNOWN, ()) else value
    if operator[0] in "#%/^,~":
        return _by_pattern(expander, part, value, argument)
    given = expander.text(argument)
    if operator == ":":
        expander.arithmetic(given)
    if value is None:
        expander.interpreter.budget.note_unknown(f"${{{part.name}{operator}…}}")
        return UNKNOWN
    if isinstance(value, tuple):
        if operator == ":" and (found := _OFFSET.match(given)):
            return _slice_elements(expander, part, value, found)
        return tuple(expander.charge_text(_apply_change(expander, each, operator, given)) for each in value)
    return expander.charge_text(_apply_change(expander, value, operator, given))


def _by_pattern(expander: Expander, part: ParameterExpansion, value: Value | None, argument: Word) -> Value:
    """Apply `${x#…}`, `${x/…/…}`, `${x^…}` and similar operators."""
    operator, replacement = part.operator, ""
    if operator[0] == "/":
        argument, other = _halves(argument)
        replacement = expander.text(other)
    glob = expander.text(argument, globs=True)
    if value is None:
        expander.interpreter.budget.note_unknown(f"${{{part.name}{operator}…}}")
        return UNKNOWN
    unquoted = [each.text for each in argument.parts if isinstance(each, Literal) and not each.quoted]
    if any(map(_EXTENDED.search, unquoted)):
        return origin_marker("".join(value))
    if isinstance(value, tuple):
        return tuple(expander.charge_text(_apply_pattern(expander, part, each, glob, replacement)) for each in value)
    return expander.charge_text(_apply_pattern(expander, part, value, glob, replacement))


def _slice_elements(
    expander: Expander, part: ParameterExpansion, value: tuple[str, ...], found: re.Match[str]
) -> Value:
    """Apply `${@:2}`, `${x[@]:1:2}`. An element that is skipped or counted may in fact be none, or several."""
    if part.name in "@*":
        given = expander.arguments()
        value, firm = (
            (expander.state.arguments.arg0, *value),
            MAX_ARGUMENTS if given is None else given.certain_args + 1,
        )
    else:
        firm = next((index for index, each in enumerate(value) if each == UNKNOWN or has_glob(each)), MAX_ARGUMENTS)
    first, length = int(found[1] or 0), int(found[2] or 0)
    some = slice_value(value, found)
    if firm >= MAX_ARGUMENTS or (first >= 0 <= length and first <= firm and first + length <= firm + 1):
        return some
    return expander.either(key_of(part), some, (UNKNOWN,))


def _apply_pattern(expander: Expander, part: ParameterExpansion, value: str, glob: str, replacement: str) -> str:
    operator = part.operator
    if not is_fully_known(value):
        return UNKNOWN
    if operator[0] in "^,~":
        return change_case(value, operator, glob)
    expander.interpreter.budget.charge(pattern_cost(value, glob) // _PATTERN_STEPS_PER_CHAR)
    if operator[0] != "/":
        return trim_pattern(value, operator, glob)
    text = replace_pattern(value, operator, glob, replacement, literally=False)
    if "&" not in replacement:
        return text
    return expander.either(key_of(part), text, replace_pattern(value, operator, glob, replacement, literally=True))


def _apply_change(expander: Expander, value: str, operator: str, given: str) -> str:
    if operator == "@":
        if given == "P":
            return expander.expand_again(value)
        return _CHANGES[given](value) if given in _CHANGES else origin_marker(value)
    found = _OFFSET.match(given) if operator == ":" and is_fully_known(value) else None
    if found is None:
        return UNKNOWN
    if has_glob(value):
        return STAR  # any part of any name that matches
    text = slice_value(value, found)
    return text if isinstance(text, str) else UNKNOWN


_CHANGES: dict[str, Callable[[str], str]] = {
    "U": str.upper, "L": str.lower, "u": capital, "Q": escape_arg, "E": ansi_c,
}  # fmt: skip


def key_of(part: Part) -> str:
    """Return a key that is unique among the parts of one command."""
    return f"${id(part)}"


def _halves(argument: Word) -> tuple[Word, Word]:
    """Split the argument of `${x/searched/replacement}`."""
    for index, part in enumerate(argument.parts):
        if isinstance(part, Literal) and not part.quoted and "/" in part.text:
            before, _, after = part.text.partition("/")
            searched = [*argument.parts[:index], Literal(before, quoted=False)]
            return Word(searched), Word([Literal(after, quoted=False), *argument.parts[index + 1 :]])
    return argument, Word([])
