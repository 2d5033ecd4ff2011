"""Arrays as values: elements in order; one with an explicit key is written `key KEYED text`. Pure."""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.symbolic import KEYED, UNKNOWN, has_glob, is_fully_known
from nacre.shell.values.values import Value

_INDEX = lazy_regex(r"-?[0-9]{1,18}")
_MAX_ELEMENTS = 100
"""Elements of an array that is filled one at a time; beyond that it is unknown, or a long script would take forever."""


COST_ELEMENT = 32
"""Cost, in characters, of taking an element out of its array and putting it back."""


def rebuild_cost(value: Value | None) -> int:
    """Return the cost, in characters, of changing one element: all are taken out and put back."""
    return COST_ELEMENT * len(value) if isinstance(value, tuple) else 0


def element(value: Value | None, subscript: str, *, mapped: bool = False) -> Value | None:
    """Return `${x[subscript]}`; None if it is not known. `mapped`: the array is associative."""
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
            return None  # each of these may be no element, or several
        known = "" if numbered or mapped else None
        return value[index] if -len(value) <= index < len(value) else known
    found = elements(value)
    if mapped:
        return found.get(subscript, "" if is_fully_known("".join((subscript, *found))) else None)
    if not numbered or not all(map(_INDEX.fullmatch, found)):
        return found.get(subscript)
    return found.get(_resolve_negative_index(subscript, found), "")


def table_entry(values: list[Value], name: str) -> str | None:
    """Return what a name stands for in one of bash's own tables (BASH_CMDS); None if it is not there.

    `values`: the contents that the table may have; the last one with an entry wins.
    """
    for value in reversed(values):
        found = UNKNOWN if value == (UNKNOWN,) else element(value, name, mapped=True)
        if isinstance(value, tuple) and isinstance(found, str) and found:
            return found
    return None


def strip_key(element: str) -> str:
    return element.rpartition(KEYED)[2]


def elements(value: tuple[str, ...]) -> dict[str, str]:
    """Return the elements by key. One without a key comes after the one before it."""
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
    """Invert `elements`: return them in bash's order if there is one, with keys only where they are needed."""
    if mapped or not all(map(_INDEX.fullmatch, found)):
        return tuple(key + KEYED + text for key, text in found.items())
    expected, out = 0, []
    for number, text in sorted((int(key), text) for key, text in found.items()):
        out.append(text if number == expected else f"{number}{KEYED}{text}")
        expected = number + 1
    return tuple(out)


def store_value(old: Value | None, key: str | None, text: str, *, append: bool, mapped: bool) -> Value:
    """Return the value of a variable after an assignment to it, or to its element `key`."""
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
    """Return the value of a variable after one of its elements was unset."""
    found = elements((old,) if isinstance(old, str) else old)
    if found.pop(_resolve_negative_index(key, found), None) is None and not is_fully_known(key):
        return (UNKNOWN,)
    return to_ordered(found, mapped=mapped)


def _resolve_negative_index(key: str, found: dict[str, str]) -> str:
    """Return the key; a negative index counts from the end."""
    if key[:1] == "-" and _INDEX.fullmatch(key):
        numbers = [int(each) for each in found if _INDEX.fullmatch(each)]
        return str(max(numbers, default=-1) + 1 + int(key))
    return key


def join_elements(value: tuple[str, ...], separator: str) -> str:
    """Join elements into one text. No separator goes next to an unknown element: it may be no element, or several."""
    out: list[str] = []
    for index, each in enumerate(value):
        if index and UNKNOWN not in (each, value[index - 1]):
            out.append(separator)
        out.append(each)
    return "".join(out)
