"""Decisions of permission rules about a command."""

from __future__ import annotations

from nacre.policy.permissions.match import apply_permissions
from nacre.policy.permissions.patterns import Permissions
from nacre.shell import read

HERE, HOME = "/home/dev/project", "/home/dev"


def permission_of(
    command: str, *, allow: tuple[str, ...] = (), ask: tuple[str, ...] = (), deny: tuple[str, ...] = ()
) -> str:
    """Return decision and rule, such as `refuse Bash(rm:*)` or `allow Bash(ls)`; empty without a decision."""
    script = read(command, cwd=HERE, home=HOME)
    found = apply_permissions(script, Permissions(allow=allow, ask=ask, deny=deny), cwd=HERE)
    return f"{found.decision} {found.rule}" if found.decision else ""


def is_denied(command: str, *rules: str) -> bool:
    return permission_of(command, deny=rules).startswith("refuse ")


def is_allowed(command: str, *rules: str) -> bool:
    return permission_of(command, allow=rules).startswith("allow ")
