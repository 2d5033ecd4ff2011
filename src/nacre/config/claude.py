"""Read the permission rules for `Bash` from Claude Code's `settings.json`. Pure.

Reads only `permissions.allow`, `ask` and `deny`, and of these only rules about shell commands. An unreadable file may
forbid something, so it is an error.
"""

from __future__ import annotations

import json

from nacre.config.files import File
from nacre.config.settings import LISTS
from nacre.errors import InvalidConfig, InvalidPolicy
from nacre.policy.permissions.patterns import pattern_of


def rules_in(file: File) -> list[tuple[str, str, int, str]]:
    """Return the list, text, line and problem of each rule about shell commands.

    The problem is empty for a valid rule. An invalid allow rule is returned with its problem; an invalid ask or deny
    rule raises InvalidConfig.
    """
    text = file.data.decode("utf-8-sig", "replace")
    settings = _parse_json(text, file.path)
    table = settings.get("permissions", {}) if isinstance(settings, dict) else None
    if not isinstance(table, dict):
        raise InvalidConfig("`permissions` must be an object.", file=file.path, line=_line(text, "permissions"))
    found = []
    for name in LISTS:
        rules = table.get(name, [])
        if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
            raise InvalidConfig(
                f"`permissions.{name}` must be a list of strings.",
                file=file.path,
                line=_line(text, name),
                key=f"permissions.{name}",
            )
        found += [
            (name, rule, _line(text, rule), wrong) for rule in rules if (wrong := _rule_problem(name, rule)) is not None
        ]
    for name, _, line, wrong in found:
        if wrong and name != "allow":
            raise InvalidConfig(wrong, file=file.path, line=line, key=f"permissions.{name}")
    return found


def _parse_json(text: str, path: str) -> object:
    """Parse JSON, and if that fails, JSON with comments, as people write it. Duplicate keys are an error."""
    try:
        return json.loads(text, object_pairs_hook=_reject_duplicates) if text.strip() else {}
    except (ValueError, RecursionError):
        from nacre.base.jsonc import JsoncSyntaxError, parse, to_python
    try:
        return to_python(parse(text))
    except JsoncSyntaxError as error:
        raise InvalidConfig(f"Invalid JSON: {error.what}.", file=path, line=error.line) from error


def _reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _rule_problem(name: str, rule: str) -> str | None:
    """Return what is wrong with a rule: empty if nothing is, None if it is not about shell commands."""
    try:
        return None if pattern_of(rule, stops=name != "allow") is None else ""
    except InvalidPolicy as error:
        return str(error)


def _line(text: str, value: str) -> int:
    """Return the first line with this text as a JSON string; 0 if it is written in another way."""
    for written in (json.dumps(value, ensure_ascii=False), json.dumps(value)):
        at = text.find(written)
        if at >= 0:
            return text.count("\n", 0, at) + 1
    return 0
