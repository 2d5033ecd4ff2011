"""Parse JSON with comments into values that know their position in the text. Pure.

For settings files that people write: `//` and `/* */` comments and trailing commas are skipped. Any other deviation
from JSON raises `JsoncSyntaxError`, with line and column. Does not edit text; `nacre.hooks.install.json_edit` does.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TypeAlias

_BLANK = re.compile(r"[ \t\r\n]*")
_LITERAL = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_MAX_DEPTH = 200


class JsoncSyntaxError(ValueError):
    """A syntax error; the message has the problem, its line and its column."""

    def __init__(self, what: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {what}")
        self.what = what
        self.line = line


@dataclass
class JsoncValue:
    """A string, number, boolean or null at `start` to `end` in the text; `value` is the Python value."""

    start: int
    end: int
    value: object


@dataclass
class JsoncContainer:
    """An object or an array. In an array, the keys of the items are empty."""

    start: int
    end: int
    is_object: bool
    items: list[Item] = field(default_factory=list)
    content_end: int = 0
    """End of the last item or comment before the closing bracket."""

    def get(self, key: str) -> Item | None:
        """Return the item with this key; None if there is none."""
        return next((item for item in self.items if item.key == key), None)


@dataclass
class Item:
    """An item of an object or array. `start` is the position of its key, or of its value in an array."""

    start: int
    key: str
    value: JsoncNode
    before: int
    """End of the preceding item, bracket, comma or comment."""
    comma: int = -1
    """Position of the comma after it; -1: no comma."""

    @property
    def end(self) -> int:
        return self.value.end


JsoncNode: TypeAlias = JsoncValue | JsoncContainer


def parse(text: str) -> JsoncNode:
    """Parse a text that contains one JSON value. JsoncSyntaxError: it does not."""
    at, _ = _blank(text, 0)
    node = _value(text, at, 0)
    at, _ = _blank(text, node.end)
    if at < len(text):
        raise _syntax_error(text, at, "extra text after the end")
    return node


def to_python(node: JsoncNode) -> object:
    """Return the value as `json.loads` would."""
    match node:
        case JsoncValue():
            return node.value
        case JsoncContainer(is_object=True):
            return {item.key: to_python(item.value) for item in node.items}
        case JsoncContainer():
            return [to_python(item.value) for item in node.items]


def _value(text: str, at: int, depth: int) -> JsoncNode:
    if depth > _MAX_DEPTH:
        raise _syntax_error(text, at, "nested too deeply")
    sign = text[at : at + 1]
    if sign in ("{", "["):
        return _parse_container(text, at, depth)
    if sign == '"':
        said, end = _string(text, at)
        return JsoncValue(at, end, said)
    found = _LITERAL.match(text, at)
    if found is None:
        raise _syntax_error(text, at, "a value is missing")
    try:
        return JsoncValue(at, found.end(), json.loads(found[0]))
    except ValueError as error:  # Python does not parse numbers of thousands of digits
        raise _syntax_error(text, at, "the number is too long") from error


def _parse_container(text: str, start: int, depth: int) -> JsoncContainer:
    keyed = text[start] == "{"
    close = "}" if keyed else "]"
    many = JsoncContainer(start, start, keyed)
    at, before = _blank(text, start + 1)
    while text[at : at + 1] != close:
        if many.items and many.items[-1].comma < 0:
            raise _syntax_error(text, at, f"a comma or `{close}` is missing")
        item = _item(text, at, before, keyed, depth)
        if keyed and many.get(item.key) is not None:
            raise _syntax_error(text, at, f"duplicate key {item.key!r}")
        many.items.append(item)
        at, before = _blank(text, item.end)
        if text[at : at + 1] == ",":
            item.comma = at
            at, before = _blank(text, at + 1)
    many.content_end = before
    many.end = at + 1
    return many


def _item(text: str, at: int, before: int, keyed: bool, depth: int) -> Item:
    if not keyed:
        return Item(at, "", _value(text, at, depth + 1), before)
    if text[at : at + 1] != '"':
        raise _syntax_error(text, at, "a quoted key is missing")
    key, end = _string(text, at)
    colon, _ = _blank(text, end)
    if text[colon : colon + 1] != ":":
        raise _syntax_error(text, colon, "a colon is missing")
    place, _ = _blank(text, colon + 1)
    return Item(at, key, _value(text, place, depth + 1), before)


def _string(text: str, at: int) -> tuple[str, int]:
    found = _TEXT.match(text, at)
    if found is None:
        raise _syntax_error(text, at, "the string is unterminated or has an unescaped control character")
    try:
        return str(json.loads(found[0])), found.end()
    except json.JSONDecodeError as error:
        raise _syntax_error(text, at + error.pos, "invalid escape sequence") from error


def _blank(text: str, at: int) -> tuple[int, int]:
    """Skip spaces and comments; return the new position, and the end of the last comment (`at` if there was none)."""
    last = at
    while True:
        at = _BLANK.match(text, at).end()  # type: ignore[union-attr]  # the pattern matches the empty string
        if text.startswith("//", at):
            newline = text.find("\n", at)
            at = last = len(text) if newline < 0 else newline - (text[newline - 1] == "\r")
        elif text.startswith("/*", at):
            close = text.find("*/", at + 2)
            if close < 0:
                raise _syntax_error(text, at, "the comment is unterminated")
            at = last = close + 2
        else:
            return at, last


def _syntax_error(text: str, at: int, what: str) -> JsoncSyntaxError:
    line = text.count("\n", 0, at) + 1
    return JsoncSyntaxError(what, line, at - text.rfind("\n", 0, at))
