"""What `${…}` does to a value: elements, slices, cases, replacements, trimmed ends. Pure."""

from __future__ import annotations

import re

from nacre.patterns import later
from nacre.shell.many import Value
from nacre.shell.state import KEYED
from nacre.shell.text import STAR, UNKNOWN, pattern, source, whole

_INDEX = later(r"-?[0-9]{1,18}")
_STEPS = 1_000_000


def element(value: Value | None, subscript: str) -> Value | None:
    if value is None:
        return None
    if isinstance(value, str):
        return (value,) if subscript in ("@", "*") else value
    if subscript in ("@", "*"):
        return tuple(unkeyed(each) for each in value)
    for each in reversed(value):
        key, keyed, text = each.partition(KEYED)
        if keyed and key == subscript:
            return text
    if _INDEX.fullmatch(subscript):
        index = int(subscript)
        return unkeyed(value[index]) if -len(value) <= index < len(value) else ""
    return None


def unkeyed(element: str) -> str:
    return element.rpartition(KEYED)[2]


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def sliced(value: Value, found: re.Match[str]) -> Value:
    start = int(found[1] or 0)
    length = None if found[2] is None else int(found[2])
    rest = value[start:]
    if length is None:
        return rest
    return rest[:length]


def recased(value: str, operator: str) -> str:
    change = {"^": str.upper, ",": str.lower, "~": str.swapcase}[operator[0]]
    return change(value) if len(operator) == 2 else change(value[:1]) + value[1:]


def replaced(value: str, operator: str, given: str) -> str:
    anchor = given[:1] if operator == "/" and given[:1] in "#%" else ""
    searched, _, replacement = given[len(anchor) :].partition("/")
    if not whole(searched) or _slow(value, searched):
        return UNKNOWN
    regex = pattern(searched)
    regex = {"#": f"\\A(?:{regex})", "%": f"(?:{regex})\\Z"}.get(anchor, regex)
    try:
        return re.sub(regex, lambda _: source(replacement), value, count=0 if operator == "//" else 1, flags=re.DOTALL)
    except re.error:
        return UNKNOWN


def trimmed(value: str, operator: str, given: str) -> str:
    """`#`, `##`, `%`, `%%`: the shortest or longest beginning or end that fits is taken off."""
    if not whole(given) or _slow(value, given):
        return UNKNOWN
    try:
        regex = re.compile(pattern(given), re.DOTALL)
    except re.error:
        return UNKNOWN
    lengths = range(len(value) + 1) if len(operator) == 1 else range(len(value), -1, -1)
    for length in lengths:
        if operator[0] == "#" and regex.fullmatch(value, 0, length):
            return value[length:]
        if operator[0] == "%" and regex.fullmatch(value, len(value) - length):
            return value[: len(value) - length]
    return value


def effort(value: str, glob: str) -> int:
    """Steps to try a pattern: each star multiplies what it takes to try them all."""
    return min(len(value) ** (min(glob.count(STAR), 8) + 1), _STEPS + 1) if value else 0


def _slow(value: str, glob: str) -> bool:
    return effort(value, glob) > _STEPS
