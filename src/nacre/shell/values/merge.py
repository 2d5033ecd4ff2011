"""Merge alternatives: find the values that a name may have where branches of a script meet again. Pure.

Thousands of alternatives may meet, and each may have set a different name. So the loops go over what was set, never
over names times alternatives; the cost is counted in characters, like all work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from nacre.shell.symbolic import UNKNOWN
from nacre.shell.values.values import Value, union_of

T = TypeVar("T")

COST_NAME = 10
"""Cost, in characters, of merging the values of a name; `COST_VALUE`: of each value, in addition to its characters or
elements."""
COST_VALUE = 20


def collect_by_name(
    alternatives: Sequence[Mapping[str, T]], otherwise: Callable[[str], T]
) -> Iterator[tuple[str, list[T]]]:
    """Yield each name that one of the alternatives has set, with its values in their order.

    If not all have set it, the list contains `otherwise(name)` once, in the place of the first that has not.
    """
    if len(alternatives) == 1:
        for name, value in alternatives[0].items():
            yield name, [value]
        return
    found: dict[str, list[T]] = {}
    places: dict[str, list[int]] = {}
    for number, way in enumerate(alternatives):
        for name, value in way.items():
            found.setdefault(name, []).append(value)
            places.setdefault(name, []).append(number)
    for name, values in found.items():
        if len(values) < len(alternatives):
            without = next((at for at, number in enumerate(places[name]) if at != number), len(values))
            values.insert(without, otherwise(name))
        yield name, values


def find_differing(tables: Sequence[dict[str, T]]) -> tuple[dict[str, T], set[str]]:
    """Return the union of these tables, in which the last one wins, and the names that are not the same in each."""
    both = {name: each for table in tables for name, each in table.items()}
    often = dict.fromkeys(both, 0)
    for table in tables:
        for name, each in table.items():
            often[name] += each is both[name] or each == both[name]
    return both, {name for name, count in often.items() if count < len(tables)}


def unique_by_id(tables: Sequence[T]) -> list[T]:
    """Return the distinct objects among these tables: most branches leave most tables unchanged."""
    return list({id(each): each for each in tables}.values())


def merge_values(alternatives: list[list[Value] | None]) -> list[Value] | None:
    """Return the values that a variable may have after several alternatives; None if none of them sets it.

    If only some set it, its value may also be that of the environment, which is unknown.
    """
    found = [values for values in alternatives if values]
    if not found:
        return None
    if len(found) < len(alternatives):
        found.append([UNKNOWN])
    first = found[0]
    return first if all(values is first for values in found) else union_of(found)


def merge_cost(alternatives: list[list[Value] | None]) -> int:
    """Return the cost, in characters, of `merge_values`."""
    return COST_NAME + sum(COST_VALUE * len(values) + sum(map(len, values)) for values in alternatives if values)
