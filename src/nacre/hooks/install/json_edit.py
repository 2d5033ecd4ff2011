"""Adds an entry to a JSON settings file or removes it, and leaves the rest as it is. Text in, text out. Pure.

`add` appends one object to the array at a path of names, and creates missing parts of the path. `remove` takes entries
out, together with containers that become empty. Comments, order, indentation and line endings are preserved; new text
is formatted like the rest of the file. Raises `JsoncSyntaxError` for invalid text, `CannotEdit` if the path has other
types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from nacre.base.jsonc import Item, JsoncContainer, JsoncNode, parse, to_python

HookEntry = Mapping[str, object]


class CannotEdit(ValueError):
    """The file has a value of another type at the path of the entry."""


def entries(text: str, path: tuple[str, ...]) -> list[object]:
    """Return the elements of the array at the path; empty if there is none."""
    node: JsoncNode = parse(text)
    for name in path:
        if not isinstance(node, JsoncContainer) or not node.is_object:
            raise CannotEdit(f"the parent of `{name}` is not an object")
        item = node.get(name)
        if item is None:
            return []
        node = item.value
    if not isinstance(node, JsoncContainer) or node.is_object:
        raise CannotEdit(f"`{'.'.join(path)}` is not an array")
    return [to_python(item.value) for item in node.items]


def add(text: str, path: tuple[str, ...], entry: HookEntry, defaults: HookEntry) -> str:
    """Append an entry to the array at the path. `defaults` are top-level members to add if the file lacks them."""
    if not text.strip():
        made: dict[str, object] = {**entry}
        value: object = [made]
        for name in reversed(path):
            value = {name: value}
        assert isinstance(value, dict)
        return json.dumps({**defaults, **value}, indent=2) + "\n"
    entries(text, path)  # raises if the types are wrong
    for name, said in defaults.items():
        root = parse(text)
        if isinstance(root, JsoncContainer) and root.get(name) is None:
            text = _insert_item(text, root, name, said)
    node: JsoncNode = parse(text)
    for depth, name in enumerate(path):
        assert isinstance(node, JsoncContainer)
        item = node.get(name)
        if item is None:
            value = [entry]
            for below in reversed(path[depth + 1 :]):
                value = {below: value}
            return _verify_added(_insert_item(text, node, name, value), path, entry)
        node = item.value
    assert isinstance(node, JsoncContainer)
    return _verify_added(_insert_item(text, node, "", entry), path, entry)


def _verify_added(text: str, path: tuple[str, ...], entry: HookEntry) -> str:
    """Raise CannotEdit unless the entry can be read back."""
    try:
        there = entry in entries(text, path)
    except ValueError:
        there = False
    if not there:
        raise CannotEdit("a hook added to it would not take effect")
    return text


def remove(text: str, path: tuple[str, ...], ours: Callable[[object], bool]) -> str:
    """Remove the entries for which `ours` is true. An entry with `hooks` of others keeps those."""
    while True:
        found = _find(parse(text), path, ours)
        if found is None:
            return text
        text = _remove_item(text, *found)


def _find(root: JsoncNode, path: tuple[str, ...], ours: Callable[[object], bool]) -> tuple[JsoncContainer, Item] | None:
    """Return the outermost item that contains nothing except our entry, and its container; None if there is none."""
    trail: list[tuple[JsoncContainer, Item]] = []
    node = root
    for name in path:
        item = node.get(name) if isinstance(node, JsoncContainer) and node.is_object else None
        if item is None:
            return None
        assert isinstance(node, JsoncContainer)
        trail.append((node, item))
        node = item.value
    if not isinstance(node, JsoncContainer) or node.is_object:
        return None
    for entry in node.items:
        inner = entry.value.get("hooks") if isinstance(entry.value, JsoncContainer) and entry.value.is_object else None
        several = inner is not None and isinstance(inner.value, JsoncContainer) and len(inner.value.items) > 1
        if several:
            assert inner is not None
            assert isinstance(inner.value, JsoncContainer)
            for handler in inner.value.items:
                if ours(to_python(handler.value)):
                    return inner.value, handler
        elif ours(to_python(entry.value)):
            trail.append((node, entry))
            while len(trail) > 1 and len(trail[-1][0].items) == 1:
                trail.pop()
            return trail[-1]
    return None


def _insert_item(text: str, many: JsoncContainer, key: str, value: object) -> str:
    """Append an item to a container, on separate lines unless the others are on one line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    spread = not many.items or "\n" in text[many.start : many.items[0].start] or _ends_in_comment(text, many)
    written = json.dumps(value, indent=_unit(text) if spread else None, ensure_ascii=False)
    before, after = " ", ""
    if spread:
        outside = _indent(text, many.start)
        inside = _indent(text, many.items[0].start) if many.items else outside + _unit(text)
        written = written.replace("\n", newline + inside)
        before = newline + inside
        after = "" if "\n" in text[many.content_end : many.end - 1] else newline + outside
    if key:
        written = f"{json.dumps(key)}: {written}"
    last = many.items[-1] if many.items else None
    if last is not None and last.comma >= 0:
        written += ","  # the file uses trailing commas
    text = text[: many.content_end] + before + written + after + text[many.content_end :]
    if last is not None and last.comma < 0:
        text = text[: last.end] + "," + text[last.end :]
    return text


def _ends_in_comment(text: str, many: JsoncContainer) -> bool:
    """Return whether the last item is followed by a `//` comment: text added to that line would become part of it."""
    return bool(many.items) and "//" in text[many.items[-1].end : many.content_end].rpartition("\n")[2]


def _remove_item(text: str, many: JsoncContainer, item: Item) -> str:
    place = many.items.index(item)
    if place + 1 < len(many.items):
        return text[: item.start] + text[many.items[place + 1].start :]
    end = item.end if item.comma < 0 else item.comma + 1
    if place == 0:
        alone = item.before == many.start + 1 and many.content_end == end and not text[end : many.end - 1].strip()
        return text[: item.before] + text[many.end - 1 if alone else end :]
    if item.comma >= 0:
        return text[: item.before] + text[end:]
    comma = many.items[place - 1].comma
    return text[:comma] + text[comma + 1 : item.before] + text[end:]


def _unit(text: str) -> str:
    """Return the indentation of one level."""
    found = re.search(r"[\[{][ \t]*\r?\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line that contains this offset."""
    line = text.rfind("\n", 0, at) + 1
    found = re.compile(r"[ \t]*").match(text, line)
    assert found is not None
    return found[0]
