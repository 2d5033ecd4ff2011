"""Where in a TOML text a key stands. Pure.

`tomllib` does not tell. So the text is read line by line, each time up to one more: the line after which a key is first
there is where its value ends, and it begins after the last line up to which the text made sense. No grammar of our own
that could be wrong; slow, and only asked for by who has made a mistake, or wants to see everything.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

MAX_LINES = 2_000
"""Lines beyond which nobody waits for it."""


def lines_of(text: str, keys: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """The line of each of these keys (a path of names), from 1 on; none for those that are not found."""
    found: dict[tuple[str, ...], int] = {}
    lines = text.split("\n")
    begins, wanted = 0, set(keys)
    for number, _ in enumerate(lines[:MAX_LINES], 1):
        try:
            table = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        for key in [key for key in wanted if _has(table, key)]:
            found[key] = begins + 1
            wanted.discard(key)
        if not wanted:
            break
        begins = number
    return found


def _has(table: Any, key: tuple[str, ...]) -> bool:
    for name in key:
        if not isinstance(table, dict) or name not in table:
            return False
        table = table[name]
    return True
