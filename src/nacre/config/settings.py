"""All settings: name, type, and what a project may do with each. Data, and the parsing of values.

A value from a file has a type; one from the environment is a string. Both are converted to the same values.
"""

from __future__ import annotations

import os
from typing import Any, Literal, TypeAlias

from nacre.base.frozen import frozen
from nacre.base.suggest import did_you_mean
from nacre.base.units import parse_duration, parse_size

SettingKind: TypeAlias = Literal[
    "choice", "seconds", "size", "count", "flag", "network", "file", "paths", "names", "rules"
]
ProjectMay: TypeAlias = Literal["any", "stricter", "more", "never"]
"""Rights of a project on a setting: set it; only make it stricter; add items; none."""


@frozen(kw_only=True)
class Setting:
    """A setting: its name, its type, and what a project may do with it."""

    name: str
    kind: SettingKind
    project_may: ProjectMay
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return f"NACRE_{self.name.upper()}"

    @property
    def is_list(self) -> bool:
        """True for lists: items of all layers are joined. Of other settings, the last layer's value counts."""
        return self.kind in ("paths", "names", "rules")


class InvalidValue(Exception):
    """An invalid value; `message` has the problem, `hint` the remedy."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint


ACCESS = ("unrestricted", "workspace", "restricted")
DECISIONS = ("allow", "ask", "refuse")
"""`ACCESS` and `DECISIONS` begin with the least strict."""
PROFILES = ("default", "mycode", "tunacode", "phoenix", "yoi", "tachikoma")

SETTINGS = {
    key.name: key
    for key in (
        Setting(name="profile", kind="choice", project_may="never", choices=PROFILES),
        Setting(name="access", kind="choice", project_may="stricter", choices=ACCESS),
        Setting(name="network", kind="network", project_may="stricter"),
        Setting(name="unix_sockets", kind="flag", project_may="stricter"),
        Setting(name="writable", kind="paths", project_may="stricter"),
        Setting(name="protected", kind="paths", project_may="more"),
        Setting(name="unprotected", kind="names", project_may="never"),
        Setting(name="hidden", kind="paths", project_may="more"),
        Setting(name="allow_partial", kind="flag", project_may="never"),
        Setting(name="timeout", kind="seconds", project_may="any"),
        Setting(name="slow_timeout", kind="seconds", project_may="any"),
        Setting(name="max_timeout", kind="seconds", project_may="stricter"),
        Setting(name="memory", kind="size", project_may="stricter"),
        Setting(name="cpu", kind="seconds", project_may="stricter"),
        Setting(name="processes", kind="count", project_may="stricter"),
        Setting(name="file_size", kind="size", project_may="stricter"),
        Setting(name="open_files", kind="count", project_may="stricter"),
        Setting(name="output", kind="size", project_may="stricter"),
        Setting(name="spill", kind="size", project_may="stricter"),
        Setting(name="log", kind="size", project_may="stricter"),
        Setting(name="pass_env", kind="names", project_may="never"),
        Setting(name="secret_env", kind="names", project_may="more"),
        Setting(name="audit", kind="file", project_may="never"),
        Setting(name="default_decision", kind="choice", project_may="stricter", choices=DECISIONS),
        Setting(name="claude_settings", kind="flag", project_may="never"),
    )
}
LISTS = {
    "allow": Setting(name="permissions.allow", kind="rules", project_may="never"),
    "ask": Setting(name="permissions.ask", kind="rules", project_may="more"),
    "deny": Setting(name="permissions.deny", kind="rules", project_may="more"),
}
"""Settings in the table `permissions`."""
TABLES = ("permissions", "rules")
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_EXAMPLES = {
    "seconds": "120",
    "size": '"512M"',
    "count": "64",
    "flag": "true",
    "network": 'true, "loopback" or [443, 80]',
    "file": 'true, or "~/audit.jsonl"',
    "paths": '["~/.cache"]',
    "names": '["AWS_PROFILE"]',
    "rules": '["Bash(npm test:*)"]',
}
_WANTED = {
    "seconds": "a number of seconds above 0",
    "size": "a size",
    "count": "an integer above 0",
    "flag": "true or false",
    "network": "true, false, 'loopback' or a list of ports",
    "file": "true, false or an absolute path",
    "paths": "a list of paths",
    "names": "a list of names",
    "rules": "a list of rules",
}


def value_of(key: Setting, raw: object) -> Any:
    """Return a setting's value from a file. InvalidValue: it has the wrong type or is out of range."""
    found = _read(key, raw)
    if found is None:
        shown = repr(raw) if isinstance(raw, str | int | float | bool) else f"a {type(raw).__name__}"
        if key.kind == "choice":
            raise InvalidValue(
                f"`{key.name}` is {shown}.", did_you_mean(raw, key.choices, f"Use {', '.join(key.choices)}.")
            )
        raise InvalidValue(
            f"`{key.name}` is {shown}, not {_WANTED[key.kind]}.", f"Write: {key.name} = {_EXAMPLES[key.kind]}"
        )
    return found


def value_from(key: Setting, text: str) -> Any:
    """Return a setting's value from an environment variable. InvalidValue: it is invalid."""
    return value_of(key, _parse_text(key, text))


def _read(key: Setting, raw: Any) -> Any:
    number = isinstance(raw, int | float) and not isinstance(raw, bool)
    match key.kind:
        case "choice":
            return raw if isinstance(raw, str) and raw in key.choices else None
        case "seconds":
            return float(raw) if number and raw > 0 else None
        case "count":
            return raw if number and isinstance(raw, int) and raw > 0 else None
        case "size":
            if isinstance(raw, str):
                return parse_size(raw)
            return raw if number and isinstance(raw, int) and raw >= 0 else None
        case "flag":
            return raw if isinstance(raw, bool) else None
        case "network":
            return _network(raw)
        case "file":
            placed = isinstance(raw, str) and raw.startswith(("/", "~/"))
            return raw if placed or isinstance(raw, bool) else None
        case "paths" | "names" | "rules":
            good = isinstance(raw, list | tuple) and all(isinstance(each, str) and each for each in raw)
            return tuple(raw) if good else None


def _network(raw: Any) -> Any:
    if isinstance(raw, bool) or raw == "loopback":
        return raw
    if not isinstance(raw, list | tuple) or not raw:
        return None
    good = all(isinstance(port, int) and not isinstance(port, bool) and 0 < port < 65536 for port in raw)
    return tuple(raw) if good else None


def _parse_text(key: Setting, text: str) -> Any:
    """Convert text to the type that a file would have; return the text unchanged if it cannot be converted."""
    match key.kind:
        case "seconds":
            found = parse_duration(text)
            return text if found is None else found
        case "count":
            return int(text) if _is_number(text) else text
        case "flag" | "network" | "file" if text.lower() in (*_ON, *_OFF):
            return text.lower() in _ON
        case "network" if text != "loopback":
            ports = text.replace(",", " ").split()
            return [int(port) for port in ports] if all(map(_is_number, ports)) else text
        case "paths":
            return [part for part in text.split(os.pathsep) if part]
        case "names":
            return text.replace(",", " ").split()
    return text


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 20  # Python parses at most 4300 digits, and no valid value has that many
