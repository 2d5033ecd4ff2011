"""Where ways through a script meet again: what a name may be after one or the other. Pure.

Thousands of ways may meet, and each may have set a name of its own. So it is gone by what they have set, never by names
times ways; what that costs is counted in characters, as all work is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from nacre.shell.symbolic import UNKNOWN
from nacre.shell.values.values import Value, union_of

T = TypeVar("T")

COST_NAME = 10
"""What it counts as, in characters, to put together what a name may be; `COST_VALUE`: for each of its values, besides
their characters or elements."""
COST_VALUE = 20


def collect_by_name(
    alternatives: Sequence[Mapping[str, T]], otherwise: Callable[[str], T]
) -> Iterator[tuple[str, list[T]]]:
    """Every name that one of the ways has set, with what it is on each that has, in their order. What it is `otherwise`
    stands there once, in the place of the first that has not."""
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
    """All that stands in any of these tables, of several the last; and the names that are not the same in each."""
    both = {name: each for table in tables for name, each in table.items()}
    often = dict.fromkeys(both, 0)
    for table in tables:
        for name, each in table.items():
            often[name] += each is both[name] or each == both[name]
    return both, {name for name, count in often.items() if count < len(tables)}


def unique_by_id(tables: Sequence[T]) -> list[T]:
    """Those that are not one and the same: most ways leave most tables as they are."""
    return list({id(each): each for each in tables}.values())


def merge_values(alternatives: list[list[Value] | None]) -> list[Value] | None:
    """What a variable may be after several ways. One on which it was not set leaves it to the environment."""
    found = [values for values in alternatives if values]
    if not found:
        return None
    if len(found) < len(alternatives):
        found.append([UNKNOWN])
    first = found[0]
    return first if all(values is first for values in found) else union_of(found)


def merge_cost(alternatives: list[list[Value] | None]) -> int:
    """What that counts as."""
    return COST_NAME + sum(COST_VALUE * len(values) + sum(map(len, values)) for values in alternatives if values)
