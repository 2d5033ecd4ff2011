"""Find the lines of keys in a TOML text. Pure.

`tomllib` does not report positions. So prefixes of the text are parsed, each one line longer: a key's value ends at the
line after which the key first appears, and begins after the longest shorter prefix that was valid TOML. This needs no
TOML grammar that could be wrong. It is slow, and used only for error messages and listings of all settings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

MAX_LINES = 2_000
"""Lines after these are not searched: it would take too long."""


def lines_of(text: str, keys: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """Return the line of each key (a path of names), counted from 1, without the keys that are not found."""
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
