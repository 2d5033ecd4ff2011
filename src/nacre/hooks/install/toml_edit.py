"""Adds an entry to Codex's `config.toml` or removes it, and leaves the rest as it is. Text in, text out. Pure.

The entry is appended between two marker comments; nothing before it is changed. Raises `CannotEdit` if the appended
text would not be part of the hooks (they are in an inline table), or the file is not valid TOML.
"""

from __future__ import annotations

import json
import tomllib

from nacre.hooks.install.json_edit import CannotEdit

_BEGIN = "# >>> nacre hook: checks shell commands before they run; `nacre hook install codex --remove` takes it out"
_END = "# <<< nacre hook"


def commands(text: str) -> list[str]:
    """Return the commands of all `PreToolUse` hooks."""
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(str(error)) from error
    groups = _array_at(said, "hooks", "PreToolUse")
    below = [group.get("hooks") for group in groups if isinstance(group, dict)]
    handlers = [each for several in below if isinstance(several, list) for each in several]
    found = [each.get("command") for each in handlers if isinstance(each, dict)]
    return [each for each in found if isinstance(each, str)]


def _array_at(said: dict[str, object], *path: str) -> list[object]:
    node: object = said
    for name in path:
        if not isinstance(node, dict):
            raise CannotEdit(f"the parent of `{name}` is not a table")
        node = node.get(name)
        if node is None:
            return []
    if not isinstance(node, list):
        raise CannotEdit(f"`{'.'.join(path)}` is not an array")
    return node


def add(text: str, matcher: str, command: str) -> str:
    """Append a `PreToolUse` hook."""
    before = commands(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [
        *([""] if text else []),
        _BEGIN,
        "[[hooks.PreToolUse]]",
        f"matcher = {_quote_string(matcher)}",
        "",
        "[[hooks.PreToolUse.hooks]]",
        'type = "command"',
        f"command = {_quote_string(command)}",
        _END,
        "",
    ]
    start = newline if text and not text.endswith("\n") else ""
    made = text + start + newline.join(lines)
    try:
        after = commands(made)
    except CannotEdit as error:
        raise CannotEdit("its hooks are in an inline table, to which none can be added") from error
    if after != [*before, command]:
        raise CannotEdit("a hook added at its end would not take effect")
    return made


def remove(text: str) -> str:
    """Remove the text between the markers of `add`, and one empty line before it."""
    begin = text.find(_BEGIN)
    end = text.find(_END, begin)
    if begin < 0 or end < 0:
        return text
    end = text.find("\n", end) + 1 or len(text)
    for blank in ("\r\n", "\n"):  # the empty line before the marker
        if text[:begin].endswith(blank) and (begin == len(blank) or text[: begin - len(blank)].endswith("\n")):
            begin -= len(blank)
            break
    return text[:begin] + text[end:]


def _quote_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML has JSON's strings, but for DEL
