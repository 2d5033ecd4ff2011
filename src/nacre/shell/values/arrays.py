"""Arrays as values: elements in order, those with a key of their own written `key KEYED text`. Pure."""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.symbolic import KEYED, UNKNOWN, has_glob, is_fully_known
from nacre.shell.values.values import Value

_INDEX = lazy_regex(r"-?[0-9]{1,18}")
_MAX_ELEMENTS = 100
"""Elements of an array that is filled one by one; beyond that it is not known, or a long script would take for ever."""


COST_ELEMENT = 32
"""What it counts as, in characters, to take an element out of its array and put it back."""


def rebuild_cost(value: Value | None) -> int:
    """What it counts as to change one element of it: all are taken out and put back."""
    return COST_ELEMENT * len(value) if isinstance(value, tuple) else 0


def element(value: Value | None, subscript: str, *, mapped: bool = False) -> Value | None:
    """`${x[subscript]}`; None if that is not known. `mapped`: of an associative array."""
    if value is None:
        return None
    if isinstance(value, str):
        if subscript in ("@", "*"):
            return (value,)
        return "" if _INDEX.fullmatch(subscript) and int(subscript) not in (0, -1) else value
    if subscript in ("@", "*"):
        return tuple(strip_key(each) for each in value)
    numbered = _INDEX.fullmatch(subscript) is not None
    if not any(KEYED in each for each in value):
        index = int(subscript) if numbered else len(value)
        if numbered and any(
            each == UNKNOWN or has_glob(each) for each in (value[:index] if index >= 0 else value[index:])
        ):
            return None  # these may be none, or several
        known = "" if numbered or mapped else None
        return value[index] if -len(value) <= index < len(value) else known
    found = elements(value)
    if mapped:
        return found.get(subscript, "" if is_fully_known("".join((subscript, *found))) else None)
    if not numbered or not all(map(_INDEX.fullmatch, found)):
        return found.get(subscript)
    return found.get(_resolve_negative_index(subscript, found), "")


def table_entry(values: list[Value], name: str) -> str | None:
    """What a name stands for in one of bash's own tables (BASH_CMDS), which may be any of these."""
    for value in reversed(values):
        found = UNKNOWN if value == (UNKNOWN,) else element(value, name, mapped=True)
        if isinstance(value, tuple) and isinstance(found, str) and found:
            return found
    return None


def strip_key(element: str) -> str:
    return element.rpartition(KEYED)[2]


def elements(value: tuple[str, ...]) -> dict[str, str]:
    """By their keys. One that has none comes after the one before it."""
    found: dict[str, str] = {}
    number = 0
    for each in value:
        key, keyed, text = each.partition(KEYED)
        if not keyed:
            key, text = str(number), each
        found[key] = text
        number = int(key) + 1 if _INDEX.fullmatch(key) else number + 1
    return found


def to_ordered(found: dict[str, str], *, mapped: bool) -> tuple[str, ...]:
    """The other way round: in bash's order, as far as there is one, and with keys only where they are needed."""
    if mapped or not all(map(_INDEX.fullmatch, found)):
        return tuple(key + KEYED + text for key, text in found.items())
    expected, out = 0, []
    for number, text in sorted((int(key), text) for key, text in found.items()):
        out.append(text if number == expected else f"{number}{KEYED}{text}")
        expected = number + 1
    return tuple(out)


def store_value(old: Value | None, key: str | None, text: str, *, append: bool, mapped: bool) -> Value:
    """What a variable becomes when a text goes into it, or into an element of it."""
    if key is None and not isinstance(old, tuple):
        return (UNKNOWN if old is None else old) + text if append else text
    before = (old,) if isinstance(old, str) else old or ()
    if len(before) > _MAX_ELEMENTS:
        return (UNKNOWN,)
    found = elements(before)
    key = "0" if key is None else _resolve_negative_index(key, found)
    found[key] = found.get(key, "") + text if append else text
    return to_ordered(found, mapped=mapped)


def remove_element(old: Value, key: str, *, mapped: bool) -> Value:
    """A variable of which an element was unset."""
    found = elements((old,) if isinstance(old, str) else old)
    if found.pop(_resolve_negative_index(key, found), None) is None and not is_fully_known(key):
        return (UNKNOWN,)
    return to_ordered(found, mapped=mapped)


def _resolve_negative_index(key: str, found: dict[str, str]) -> str:
    """A negative number counts from the end."""
    if key[:1] == "-" and _INDEX.fullmatch(key):
        numbers = [int(each) for each in found if _INDEX.fullmatch(each)]
        return str(max(numbers, default=-1) + 1 + int(key))
    return key


def join_elements(value: tuple[str, ...], separator: str) -> str:
    """In one text. What is not known may be no element at all, or several."""
    out: list[str] = []
    for index, each in enumerate(value):
        if index and UNKNOWN not in (each, value[index - 1]):
            out.append(separator)
        out.append(each)
    return "".join(out)
