"""Encodes the values of a Protection as JSON, in a file for another process. Decoding runs no code from the file."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

from nacre.protected_paths.git_directories import GitState
from nacre.protected_paths.mounted_paths import Marks
from nacre.protected_paths.nested_repositories import Repository
from nacre.protected_paths.snapshot import PathEntry


class Scope(NamedTuple):
    """The fields of a plan that say what is compared."""

    roots: tuple[str, ...]
    repositories: tuple[str, ...]
    own_code: tuple[str, ...]


_CLASSES: dict[str, type[Any]] = {each.__name__: each for each in (Scope, PathEntry, Marks, GitState, Repository)}


def pack(value: Any) -> bytes:
    """Encode a value. Raises TypeError if it holds anything except builtins and the values of a Protection."""
    import json

    return json.dumps(_plain(value), separators=(",", ":")).encode("ascii")


def unpack(data: bytes) -> Any:
    """Decode a value. Raises ValueError if `data` was not encoded by `pack`."""
    import json

    try:
        return _value(json.loads(data))
    except (KeyError, TypeError, IndexError, RecursionError) as error:
        raise ValueError("not as it was packed") from error


def _plain(value: Any) -> Any:
    """Convert a value to JSON types. Each collection becomes a list that starts with its type name."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is bytes:
        return ["bytes", base64.b64encode(value).decode("ascii")]
    if type(value) is dict:
        return ["dict", *([_plain(key), _plain(each)] for key, each in value.items())]
    kind = type(value).__name__
    if type(value) in (tuple, list, frozenset) or _CLASSES.get(kind) is type(value):
        return [kind, *(_plain(each) for each in value)]
    raise TypeError(f"{kind} cannot be packed")


def _value(data: Any) -> Any:
    if type(data) is not list:
        if data is None or type(data) in (bool, int, str):
            return data
        raise ValueError("not as it was packed")
    kind, rest = data[0], data[1:]
    if kind == "bytes":
        return base64.b64decode(rest[0], validate=True)
    if kind == "dict":
        return {_value(key): _value(each) for key, each in rest}
    values = [_value(each) for each in rest]
    if kind == "list":
        return values
    if kind in ("tuple", "frozenset"):
        return tuple(values) if kind == "tuple" else frozenset(values)
    return _CLASSES[kind](*values)
