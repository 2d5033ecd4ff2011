"""An entry into Codex's `config.toml`, and out of it: text in, text out, everything else as it was. Pure.

It is appended, between two lines that say whose it is, and nothing before them is touched. Where that would not say the
same (hooks in an inline table), `CannotEdit` is raised, as for a file that is no TOML.
"""

from __future__ import annotations

import json
import tomllib

from nacre.hooks.install.json_edit import CannotEdit

_BEGIN = "# >>> nacre hook: checks shell commands before they run; `nacre hook install codex --remove` takes it out"
_END = "# <<< nacre hook"


def commands(text: str) -> list[str]:
    """Of the hooks that are asked before a tool is used."""
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
            raise CannotEdit(f"what should hold `{name}` is no table")
        node = node.get(name)
        if node is None:
            return []
    if not isinstance(node, list):
        raise CannotEdit(f"`{'.'.join(path)}` is no array")
    return node


def add(text: str, matcher: str, command: str) -> str:
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
        raise CannotEdit("its hooks stand in an inline table, after which none can be added") from error
    if after != [*before, command]:
        raise CannotEdit("a hook that is added at its end would not be one of its hooks")
    return made


def remove(text: str) -> str:
    """Without what `add` has put there."""
    begin = text.find(_BEGIN)
    end = text.find(_END, begin)
    if begin < 0 or end < 0:
        return text
    end = text.find("\n", end) + 1 or len(text)
    for blank in ("\r\n", "\n"):  # the empty line before it
        if text[:begin].endswith(blank) and (begin == len(blank) or text[: begin - len(blank)].endswith("\n")):
            begin -= len(blank)
            break
    return text[:begin] + text[end:]


def _quote_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML has the same strings, but for DEL
