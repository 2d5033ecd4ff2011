"""Adds our hook to the bytes of a settings file, or removes it. Pure.

None stands for a file that does not exist. Raises `CannotEdit` for a file that is invalid or has no place for a hook.
"""

from __future__ import annotations

from nacre.base.jsonc import JsoncSyntaxError
from nacre.hooks.install import json_edit, toml_edit
from nacre.hooks.install.json_edit import CannotEdit
from nacre.hooks.install.locations import AgentSettings, is_ours

_MARK = "\ufeff"


def installed_commands(settings: AgentSettings, path: str, data: bytes | None) -> list[str]:
    """Return our hook commands in the file."""
    if data is None:
        return []
    text, _ = _text(data)
    if _toml(path):
        return [each for each in toml_edit.commands(text) if is_ours(each)]
    if not text.strip():
        return []
    try:
        return [command for entry in json_edit.entries(text, settings.path) for command in _commands(entry)]
    except JsoncSyntaxError as error:
        raise CannotEdit(str(error)) from error


def with_hook(settings: AgentSettings, path: str, data: bytes | None, command: str) -> bytes:
    """Return the file with our hook in it exactly once, running `command`."""
    there = installed_commands(settings, path, data)
    if data is not None and there == [command]:
        return data
    if there:
        data = without_hook(settings, path, data)
    text, mark = _text(data or b"")
    if _toml(path):
        return (mark + toml_edit.add(text, settings.matcher, command)).encode()
    added = json_edit.add(text, settings.path, settings.entry(command), dict(settings.defaults))
    return (mark + added).encode()


def without_hook(settings: AgentSettings, path: str, data: bytes | None) -> bytes | None:
    """Return the file without our hook; None if nothing would be left of a file that we created."""
    there = installed_commands(settings, path, data)
    if data is None or not there:
        return data
    if data == with_hook(settings, path, None, there[0]):
        return None
    text, mark = _text(data)
    if _toml(path):
        text = toml_edit.remove(text)
        if any(map(is_ours, toml_edit.commands(text))):
            raise CannotEdit("its hook was not written by `nacre hook install`: remove it by hand")
        return (mark + text).encode()
    return (mark + json_edit.remove(text, settings.path, lambda entry: bool(_commands(entry)))).encode()


def _commands(entry: object) -> list[str]:
    """Return our commands in an entry: its own, or those of its `hooks`."""
    if not isinstance(entry, dict):
        return []
    inner = entry.get("hooks")
    handlers = [entry, *(inner if isinstance(inner, list) else ())]
    found = [each.get("command") for each in handlers if isinstance(each, dict)]
    return [each for each in found if isinstance(each, str) and is_ours(each)]


def _text(data: bytes) -> tuple[str, str]:
    """Decode the file. Return its text without the byte order mark that some editors write, and that mark."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise CannotEdit("it is not UTF-8") from error
    return (text[1:], _MARK) if text.startswith(_MARK) else (text, "")


def _toml(path: str) -> bool:
    return path.endswith(".toml")
