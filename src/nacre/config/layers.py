"""Merge files, environment and arguments into one Config; a project's settings count only if they are stricter.

Pure, except that it loads the module of a rule that a project names, for the rule's own decision.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nacre.base.suggest import did_you_mean, find_nearest
from nacre.config.config import RULE, Config, Entry, Note, Origin
from nacre.config.files import File
from nacre.config.settings import (
    ACCESS,
    DECISIONS,
    LISTS,
    SETTINGS,
    TABLES,
    InvalidValue,
    ProjectMay,
    Setting,
    value_from,
    value_of,
)
from nacre.errors import InvalidConfig, InvalidPolicy
from nacre.policy.permissions.patterns import TOOL, pattern_of
from nacre.policy.rules import MODULES_BY_ID
from nacre.verdict import Decision

_TIGHTENS = "a project can only make it stricter"
_USERS = "a project cannot set it"
_LOOSENS = "it applies only with the project's own `access`, which is overridden"
_ASKS = "commands not known to be harmless are refused here; this would ask instead"
_NO_SECRET = "variables that every program needs cannot be secret"
_NEEDED = frozenset("PATH HOME USER LOGNAME SHELL PWD TMPDIR LANG TERM".split())
"""Variables that every program needs. Without PATH, bash also searches the working directory."""
_CONFINES = frozenset(("network", "unix_sockets", "writable"))
_PROFILE_SETTINGS = frozenset(("max_timeout", "output", "spill", "log"))
"""Settings with a default in the profile."""


class Layers:
    """The settings merged so far."""

    def __init__(self, home: str, *, lines: bool = False) -> None:
        self._home = home
        self._lines = lines
        self._entries: dict[str, tuple[Entry, ...]] = {}
        self._notes: list[Note] = []
        self._files: list[str] = []
        self._widened_by_project: list[tuple[str, Entry]] = []
        """Settings that a project has widened within the sandbox that it has requested itself."""
        self._ask_by_project: dict[str, tuple[Entry, ...]] = {}
        """Rules that a project has set to ask, with their entries before that."""
        self._users: set[str] = set()
        """Keys that the user has set."""

    def result(self) -> Config:
        """Return the merged configuration."""
        access = self._entries.get("access")
        if access is not None and access[-1].origin.layer != "project":
            for key, entry in self._widened_by_project:
                self._entries[key] = tuple(each for each in self._entries[key] if each is not entry)
                self._notes.append(Note(key, entry.origin, _LOOSENS))
        self._refuse_to_ask()
        return Config(entries=self._entries, notes=tuple(self._notes), files=tuple(self._files))

    def _refuse_to_ask(self) -> None:
        """Drop a project's ask decisions and ask rules if commands that are not plain are refused by default.

        Asking is stricter than allowing, but less strict than that default, over which rules take precedence.
        """
        if self._default_decision() is not Decision.REFUSE:
            return
        if (said := self._entries.get("default_decision")) and said[-1].origin.layer == "project":
            return  # without its `default_decision`, these commands would be neither asked about nor refused
        kept = dict(self._ask_by_project)
        key = LISTS["ask"].name
        kept[key] = tuple(each for each in self._entries.get(key, ()) if each.origin.layer != "project")
        for key, before in kept.items():
            asked = [each for each in self._entries.get(key, ()) if each.origin.layer == "project"]
            if asked:
                self._notes += [Note(key, entry.origin, _ASKS) for entry in asked]
                self._entries[key] = before
                if not before:
                    del self._entries[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value in force so far."""
        return Config(entries=self._entries).get(key, default)

    # files

    def toml(self, file: File) -> bool:
        """Add the settings of a TOML file; return whether it has any."""
        text, table = _parse_toml(file)
        path: tuple[str, ...] = ()
        if file.kind == "pyproject":
            path = ("tool", "nacre")
            tool = table.get("tool", {})
            if not isinstance(tool, dict) or "nacre" not in tool:
                return False
            table = tool["nacre"]
            if not isinstance(table, dict):
                raise InvalidConfig("`tool.nacre` must be a table.", file=file.path, line=_line(text, *path))
        self._files.append(file.path)
        found, keys = [], []
        for key, names, value in _flat(table, file, text, path):
            found.append((key, value))
            keys.append((*path, *names))
        lines = _lines(text, keys) if self._lines else {}
        pairs = list(zip(found, keys, strict=True))
        if file.project:  # a project's other settings depend on its access
            pairs.sort(key=lambda pair: pair[0][0].name != "access")
        free = self.get("access", "unrestricted") == "unrestricted"
        confines = any(key.name == "access" and value != "unrestricted" for key, value in found)
        for (key, value), names in pairs:
            origin = Origin("project" if file.project else "user", file.path, lines.get(names, 0))
            if file.project:
                self._from_project(key, value, origin, opens=free and confines)
            else:
                self._users.add(key.name)
                self._set(key, value, origin)
        return True

    def claude(self, file: File) -> None:
        """Add the permission rules of Claude Code's settings."""
        from nacre.config.claude import rules_in  # loads `json`, too

        self._files.append(file.path)
        for name, rule, line, wrong in rules_in(file):
            origin = Origin("project" if file.project else "user", file.path, line if self._lines else 0)
            if wrong:
                self._notes.append(Note(LISTS[name].name, origin, wrong))
            elif file.project:
                self._from_project(LISTS[name], (rule,), origin)
            else:
                self._set(LISTS[name], (rule,), origin)

    def reads_claude(self, env: Mapping[str, str]) -> bool:
        """Return whether Claude Code's settings count.

        The environment may decide that, but is merged after the files.
        """
        key = SETTINGS["claude_settings"]
        try:
            return bool(value_from(key, env[key.variable]) if key.variable in env else self.get(key.name, True))
        except InvalidValue:
            return True  # `environment` reports the invalid value

    # the environment and arguments

    def environment(self, env: Mapping[str, str]) -> None:
        """Add settings from `NACRE_` variables.

        A name similar to a setting raises InvalidConfig; any other unknown name belongs to another program and is
        ignored.
        """
        for name, text in env.items():
            suffix = name[6:]
            key = SETTINGS.get(suffix.lower())
            if key is None or key.variable != name:
                if hint := _nearest_name(suffix):
                    raise InvalidConfig(f"Unknown setting {name}.", hint, file=f"${name}", key=suffix.lower())
                continue
            try:
                self._set(key, value_from(key, text), Origin("environment", f"${name}"))
            except InvalidValue as wrong:
                raise InvalidConfig(wrong.message, wrong.hint, file=f"${name}", key=key.name) from wrong

    def arguments(self, given: Mapping[str, Any]) -> None:
        """Add values in the library's own types; the library validates them."""
        for name, value in given.items():
            if name not in SETTINGS:
                raise InvalidConfig(f"Unknown setting {name!r}.", did_you_mean(name, SETTINGS), key=name)
            self._set(SETTINGS[name], value, Origin("argument", f"--{name.replace('_', '-')}"))

    # one value

    def _set(self, key: Setting, value: Any, origin: Origin) -> None:
        if key.is_list:
            items = tuple(Entry(self._resolve_path(key, each, origin), origin) for each in value)
            self._entries[key.name] = (*self._entries.get(key.name, ()), *items)
        else:
            self._entries[key.name] = (Entry(self._resolve_path(key, value, origin), origin),)

    def _resolve_path(self, key: Setting, value: Any, origin: Origin) -> Any:
        if key.kind not in ("paths", "file") or not isinstance(value, str):
            return value
        if value == "~" or value.startswith("~/"):
            return self._home + value[1:]
        return os.path.join(os.path.dirname(origin.file), value) if origin.layer == "project" else value

    def _from_project(self, key: Setting, value: Any, origin: Origin, *, opens: bool = False) -> None:
        if key.name == "secret_env" and not _NEEDED.isdisjoint(value):
            self._notes.append(Note(key.name, origin, _NO_SECRET))
            value = tuple(name for name in value if name not in _NEEDED)
        if key.project_may == "never":
            self._notes.append(Note(key.name, origin, _USERS))
        elif key.project_may in ("any", "more") or self._is_stricter(key, value):
            if key.name.startswith(RULE) and Decision(value) is Decision.ASK:
                self._ask_by_project.setdefault(key.name, self._entries.get(key.name, ()))
            self._set(key, value, origin)
        elif opens and key.name in _CONFINES and key.name not in self._users:
            before = len(self._entries.get(key.name, ())) if key.is_list else 0
            self._set(key, value, origin)
            self._widened_by_project += [(key.name, entry) for entry in self._entries[key.name][before:]]
        elif value != self.get(key.name):
            self._notes.append(Note(key.name, origin, _TIGHTENS))

    def _is_stricter(self, key: Setting, value: Any) -> bool:
        current = self.get(key.name)
        if key.name.startswith(RULE):
            return Decision(value).strictness > self._decision(key.name[len(RULE) :]).strictness
        match key.name:
            case "access":
                return ACCESS.index(value) > ACCESS.index(current or ACCESS[0])
            case "default_decision":
                return DECISIONS.index(value) > self._default_decision().strictness
            case "network":
                return _is_narrower(current or False, value)
            case "unix_sockets":
                return bool(current) and not value
            case "writable":
                return False
        if key.name in _PROFILE_SETTINGS:
            current = getattr(Config(entries=self._entries).profile, key.name)
        return current is None or value < current

    def _default_decision(self) -> Decision:
        return Config(entries=self._entries).policy.default_decision

    def _decision(self, id: str) -> Decision:
        """Return a rule's decision by the settings merged so far."""
        from nacre.policy.rules import load

        decisions = Config(entries=self._entries).policy.decisions
        rule = load(MODULES_BY_ID[id])
        own = Decision.ALLOW if rule.optional else decisions.get("*", rule.decision)
        return decisions.get(id, own)


def _is_narrower(current: Any, value: Any) -> bool:
    if value is False or current is True:
        return bool(value != current)
    return isinstance(current, tuple) and isinstance(value, tuple) and set(value) < set(current)


def _nearest_name(suffix: str) -> str:
    near = find_nearest(suffix.lower(), SETTINGS, cutoff=0.75)
    return f"Did you mean ${SETTINGS[near].variable}?" if near else ""


def _parse_toml(file: File) -> tuple[str, dict[str, Any]]:
    import tomllib

    text = file.data.decode("utf-8", "replace").replace("\r\n", "\n")
    try:
        return text, tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number may have too many digits for Python
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1 if place else 0
        message = str(error)[: place.start()] if place else str(error) or "nested too deeply"
        raise InvalidConfig(f"Invalid TOML: {message}.", file=file.path, line=line) from error


def _flat(
    table: dict[str, Any], file: File, text: str, path: tuple[str, ...]
) -> Iterator[tuple[Setting, tuple[str, ...], Any]]:
    """Yield each setting of a table with its key and value. InvalidConfig: one is unknown or invalid."""
    for names, raw in _leaves(table):
        try:
            key = _key(names, path)
            value = value_of(key, raw)
            for rule in value if key.kind == "rules" else ():
                if pattern_of(rule) is None and find_nearest(rule.partition("(")[0], (TOOL,)):
                    raise InvalidValue(f"The permission rule {rule!r} matches no command.", f"Did you mean {TOOL!r}?")
            yield key, names, value
        except (InvalidValue, InvalidPolicy) as error:
            message, hint = (error.message, error.hint) if isinstance(error, InvalidValue) else (str(error), "")
            line = _line(text, *path, *names)
            raise InvalidConfig(message, hint, file=file.path, line=line, key=".".join(names)) from error


def _leaves(table: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, raw in table.items():
        if name in TABLES and isinstance(raw, dict):
            yield from (((name, inner), value) for inner, value in raw.items())
        else:
            yield (name,), raw


def _key(names: tuple[str, ...], path: tuple[str, ...]) -> Setting:
    match names:
        case (name,) if name in SETTINGS:
            return SETTINGS[name]
        case (name,) if name in TABLES:
            raise InvalidValue(f"`{name}` must be a table.", f"Write: [{'.'.join((*path, name))}]")
        case (name,):
            raise InvalidValue(f"Unknown setting {name!r}.", did_you_mean(name, (*SETTINGS, *TABLES)))
        case ("permissions", name):
            if name in LISTS:
                return LISTS[name]
            raise InvalidValue(f"Unknown permission list {name!r}.", did_you_mean(name, LISTS))
        case (_, id):
            if id in MODULES_BY_ID or id == "*":
                say: ProjectMay = "never" if id == "*" else "stricter"
                return Setting(name=RULE + id, kind="choice", project_may=say, choices=DECISIONS)
            raise InvalidValue(f"Unknown rule {id!r}.", did_you_mean(id, MODULES_BY_ID, "`nacre rules` lists them."))
    raise AssertionError(names)


def _line(text: str, *key: str) -> int:
    return _lines(text, [key]).get(key, 0)


def _lines(text: str, keys: list[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    from nacre.config.toml_lines import lines_of

    return lines_of(text, keys)
