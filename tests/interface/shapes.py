"""Shapes of plain data: nested names of types, deterministic, so that two runs compare equal."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

WORD_KEYS = frozenset({"kind", "code", "decision", "state", "layer", "outcome", "error", "caller", "profile", "mode"})
"""Keys whose texts are part of the interface: a shape contains the text itself, after `= `."""
VARYING_KEYS = frozenset({"notes"})
"""Lists of texts that are empty or not depending on the machine's speed: only the type of their items counts."""
_TASK_ID = re.compile(r"bash-[0-9a-f]{8}")


def describe_shape(value: Any, *, words: Collection[str] = WORD_KEYS, key: str = "") -> Any:
    """Return the shape of a value: `{"pid": 7, "kind": "exited"}` gives `{"pid": "int", "kind": "= exited"}`.

    A list gives the distinct shapes of its items, sorted. `words`: keys whose texts are kept. `key`: the key of the
    value.
    """
    match value:
        case None:
            return "null"
        case str():
            return f"= {value}" if key in words else "str"
        case bool() | int() | float():
            return type(value).__name__
        case Mapping():
            names = {_TASK_ID.sub("ID", str(name)): each for name, each in value.items()}
            return {name: describe_shape(each, words=words, key=name) for name, each in names.items()}
        case list() | tuple() if key in VARYING_KEYS and all(isinstance(each, str) for each in value):
            return "list of str"
        case list() | tuple():
            return merge_equal([describe_shape(each, words=words) for each in value])
        case _:
            return f"object {type(value).__name__}"


def merge_equal(shapes: list[Any]) -> list[Any]:
    """Return the distinct shapes, sorted by their JSON."""
    return [json.loads(text) for text in sorted({json.dumps(shape, sort_keys=True) for shape in shapes})]


def split_common(cases: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the keys with the same shape in every case once; then for each case the rest."""
    first = next(iter(cases.values()))
    common = {
        key: shape for key, shape in first.items() if all(key in case and case[key] == shape for case in cases.values())
    }
    rest = {name: {key: case[key] for key in case if key not in common} for name, case in cases.items()}
    return {"in every case": common, **rest}


def strip_prose(schema: Any) -> Any:
    """Return a JSON schema without descriptions and titles: names, types, required, enums, defaults, bounds.

    A property may itself be called `description`: below `properties` every name is kept.
    """
    if isinstance(schema, list):
        return [strip_prose(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: each for name, each in schema.items() if not (name in ("description", "title") and _is_text(each))}
    return {name: strip_prose(each) for name, each in kept.items()}


def _is_text(value: object) -> bool:
    """Return whether it is prose: a property that is called `description` is an object."""
    return isinstance(value, str)
