"""An entry into a JSON settings file, and out of it: text in, text out, everything else as it was. Pure.

`add` puts one object at the end of the array below a path of names, and makes what is missing of the path. `remove`
takes entries out, and with them what they leave empty. Comments, order, indentation and line ends stay; what the file
did not have is written as the rest of it is. Raises `JsoncSyntaxError` for what cannot be read, `CannotEdit` for what
is something else there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from nacre.base.jsonc import Item, JsoncContainer, JsoncNode, parse, to_python

HookEntry = Mapping[str, object]


class CannotEdit(ValueError):
    """The file says something else where the entry would stand."""


def entries(text: str, path: tuple[str, ...]) -> list[object]:
    """What the array below the path has; nothing, if there is none."""
    node: JsoncNode = parse(text)
    for name in path:
        if not isinstance(node, JsoncContainer) or not node.is_object:
            raise CannotEdit(f"what should hold `{name}` is no object")
        item = node.get(name)
        if item is None:
            return []
        node = item.value
    if not isinstance(node, JsoncContainer) or node.is_object:
        raise CannotEdit(f"`{'.'.join(path)}` is no array")
    return [to_python(item.value) for item in node.items]


def add(text: str, path: tuple[str, ...], entry: HookEntry, defaults: HookEntry) -> str:
    """`defaults`: what the file has to say beside it, unless it says something there."""
    if not text.strip():
        made: dict[str, object] = {**entry}
        value: object = [made]
        for name in reversed(path):
            value = {name: value}
        assert isinstance(value, dict)
        return json.dumps({**defaults, **value}, indent=2) + "\n"
    entries(text, path)  # is everything what it should be?
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
    """What cannot be found again was not added."""
    try:
        there = entry in entries(text, path)
    except ValueError:
        there = False
    if not there:
        raise CannotEdit("a hook that is added to it would not be one of its hooks")
    return text


def remove(text: str, path: tuple[str, ...], ours: Callable[[object], bool]) -> str:
    """Without the entries that are ours. One that has others' among its `hooks` keeps those."""
    while True:
        found = _find(parse(text), path, ours)
        if found is None:
            return text
        text = _remove_item(text, *found)


def _find(root: JsoncNode, path: tuple[str, ...], ours: Callable[[object], bool]) -> tuple[JsoncContainer, Item] | None:
    """The outermost thing that is nothing but ours, and what it stands in."""
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
    """At the end of many, in lines of its own unless they stand in one line."""
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
        written += ","  # as they do it
    text = text[: many.content_end] + before + written + after + text[many.content_end :]
    if last is not None and last.comma < 0:
        text = text[: last.end] + "," + text[last.end :]
    return text


def _ends_in_comment(text: str, many: JsoncContainer) -> bool:
    """One that ends with its line: what would be added to the line would be a part of it."""
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
    found = re.search(r"[\[{][ \t]*\r?\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _indent(text: str, at: int) -> str:
    """Of the line in which something stands."""
    line = text.rfind("\n", 0, at) + 1
    found = re.compile(r"[ \t]*").match(text, line)
    assert found is not None
    return found[0]
