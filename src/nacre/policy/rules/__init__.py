"""Every rule, and the commands it looks at. A rule's file is loaded when such a command is met: starting is quick."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nacre.policy.rule import Rule

SCRIPT = "script"
"""Looks at the text as a whole."""

LISTED: dict[str, tuple[str, ...]] = {}

MODULES = tuple(LISTED)
_BY_COMMAND: dict[str, list[str]] = {}
for _module, _commands in LISTED.items():
    for _command in _commands:
        _BY_COMMAND.setdefault(_command, []).append(_module)


@cache
def load(module: str) -> Rule:
    rule = import_module(f"{__name__}.{module}").RULE
    assert isinstance(rule, Rule)
    return rule


def rules_for(command: str) -> list[Rule]:
    """The rules that look at a command of this name."""
    return [load(module) for module in _BY_COMMAND.get(command, ())]


def every_rule() -> list[Rule]:
    return [load(module) for module in MODULES]
