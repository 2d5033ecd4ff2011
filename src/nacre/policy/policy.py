"""A policy is data: which rules, at which decision, the caller's own rules, exceptions, what happens to the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nacre.policy.rule import Rule
from nacre.verdict import Decision


@dataclass(frozen=True, slots=True)
class Exemption:
    """One rule does not apply to one place: `Exemption("write-etc", "/etc/hosts")`."""

    rule: str
    path: str = "**"
    """An absolute path; `*` stands for anything but `/`, `**` for anything. The default is everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Which rules, at which decision."""

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    """Rules at another decision than their own; ALLOW switches one off. The floor cannot be lowered."""
    own: tuple[Rule, ...] = ()
    """The caller's rules (`nacre.policy.own.rule` makes them)."""
    exemptions: tuple[Exemption, ...] = ()
    otherwise: Decision = Decision.ALLOW
    """For what no rule stops and is not provably plain. ASK makes the plain commands a list of what may run unasked."""
    plain: frozenset[str] | None = None
    """Commands that may count as plain; None stands for the list that comes with nacre."""


DEFAULT = Policy()
EVERYTHING = Policy(decisions={"*": Decision.ALLOW})
"""Only the floor is left."""
