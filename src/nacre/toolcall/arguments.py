"""Read the arguments of a tool call: a mapping in, checked values out. `InvalidRequest` says what is wrong and what to
do.

Models write `"30"` for 30 and `"true"` for true; a lenient reader accepts that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nacre.base.preview import MAX_PREVIEW_CHARS, preview
from nacre.base.suggest import find_nearest
from nacre.errors import InvalidRequest


class ArgumentReader:
    """Reads arguments by name. Every name that was read is known; `reject_unknown` raises if others are left."""

    def __init__(self, arguments: object, *, lenient: bool = True) -> None:
        if not isinstance(arguments, Mapping):
            raise InvalidRequest(
                "bad_arguments",
                "The arguments must be an object.",
                field="",
                hint='Pass an object, such as {"command": "ls"}.',
            )
        self._arguments = {str(name): value for name, value in arguments.items() if value is not None}
        self._null = {str(name) for name, value in arguments.items() if value is None}
        self._known: list[str] = []
        self._lenient = lenient

    def has(self, name: str) -> bool:
        return name in self._arguments

    def is_null(self, name: str) -> bool:
        """Return true if the argument was given as null."""
        return name in self._null

    def pop(self, name: str, default: Any = None, *, aliases: tuple[str, ...] = ()) -> Any:
        """Remove and return a value, or `default` if none of the names was given."""
        self._known.append(name)
        found = [self._arguments.pop(each) for each in (name, *aliases) if each in self._arguments]
        return found[0] if found else default

    def text(self, name: str, default: str = "") -> str:
        value = self.pop(name, default)
        if not isinstance(value, str):
            raise bad_argument(name, value, "Pass a string.")
        return value

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self.pop(name, default)
        if value not in choices:
            raise bad_argument(name, value, f"Use one of {', '.join(choices)}.")
        return str(value)

    def boolean(self, name: str, *, default: bool) -> bool:
        value = self.pop(name, default)
        if isinstance(value, str) and self._lenient:
            value = {"true": True, "false": False}.get(value.strip().lower(), value)
        if not isinstance(value, bool):
            raise bad_argument(name, value, "Use true or false.")
        return value

    def number(self, name: str, default: float) -> float:
        value = self._parse_number(self.pop(name, default), float)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise bad_argument(name, value, "Give a number.")
        try:
            number = float(value)
        except OverflowError:
            number = math.nan
        if math.isnan(number):
            raise bad_argument(name, value, "Give a number.")
        return number

    def integer(self, name: str) -> int | None:
        value = self._parse_number(self.pop(name), int)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2**64:
            raise bad_argument(name, value, "Give an integer.")
        return value

    def string_map(self, name: str) -> dict[str, str]:
        value = self.pop(name, {})
        if not isinstance(value, Mapping):
            raise bad_argument(name, value, 'Pass an object of strings, such as {"NAME": "value"}.')
        for key, each in value.items():
            if not isinstance(key, str) or not isinstance(each, str):
                raise bad_argument(f"{name}.{key}", each, "Pass strings only.", code=f"bad_{name}")
        return dict(value)

    def reject_unknown(self) -> None:
        """Raise InvalidRequest if an argument was not read."""
        rest = [*self._arguments, *(name for name in self._null if name not in self._known)]
        if not rest:
            return
        name = rest[0]
        near = find_nearest(name, self._known)
        known = ", ".join(self._known)
        raise InvalidRequest(
            "unknown_argument",
            f"Unknown argument: {name!r:.60}.",
            field=name[:MAX_PREVIEW_CHARS],
            hint=f"Did you mean `{near}`?" if near else f"Use: {known}.",
        )

    def _parse_number(self, value: Any, kind: type[int] | type[float]) -> Any:
        if isinstance(value, str) and self._lenient:
            try:
                return kind(value.strip())
            except ValueError:
                return value
        return value


def bad_argument(name: str, value: object, hint: str, *, code: str = "") -> InvalidRequest:
    """Return the error for an argument with an invalid value."""
    return InvalidRequest(code or f"bad_{name}", f"`{name}` is {preview(value)}.", field=name, hint=hint)
