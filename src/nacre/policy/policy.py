"""A policy is data: which rules, at which decision, the caller's own rules, exceptions, what happens to the rest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from posixpath import normpath

from nacre.base.frozen import field, frozen, replace
from nacre.errors import InvalidPolicy
from nacre.policy.permissions.patterns import Permissions
from nacre.policy.rule import Rule
from nacre.policy.rules import MODULES_BY_ID
from nacre.verdict import ASKED_ID, DENIED_ID, NOT_PROVEN_HARMLESS_ID, Decision


@frozen
class Exemption:
    """One rule does not apply to one place: `Exemption("write-etc", "/etc/hosts")`."""

    rule: str
    """One rule's: to switch all of them off is `Policy(decisions={"*": Decision.ALLOW})`."""
    path: str = "**"
    """An absolute path; `*` stands for anything but `/`, `**` for anything. The default is everywhere."""

    def __post_init__(self) -> None:
        if self.rule == "*":
            raise InvalidPolicy("An exemption is for one rule. For all of them: Policy(decisions={'*': 'allow'}).")
        if not self.path.startswith(("/", "**")) or normpath(self.path) != self.path:
            raise InvalidPolicy(
                f"The path of an exemption is absolute, without `..` or a slash at its end: {self.path!r}."
            )


@frozen(kw_only=True)
class Policy:
    """Which rules, at which decision."""

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    """Rules at another decision than their own; ALLOW switches one off. The floor cannot be lowered."""
    custom_rules: tuple[Rule, ...] = ()
    """The caller's rules (`nacre.policy.custom_rules.rule` makes them)."""
    exemptions: tuple[Exemption, ...] = ()
    default_decision: Decision = Decision.ALLOW
    """For what no rule stops and is not provably plain. ASK makes the plain commands a list of what may run unasked."""
    plain: frozenset[str] | None = None
    """Commands that may count as plain; None stands for the list that comes with nacre."""
    permissions: Permissions = Permissions()
    """Rules in the syntax that agents share: `Permissions(allow=("Bash(npm test:*)",), deny=("Bash(git push:*)",))`."""

    def __post_init__(self) -> None:
        """What would do nothing, or something else than it says, is a mistake; decisions may be given as words."""
        known = set(MODULES_BY_ID)
        for rule in self.custom_rules:
            if rule.id in known or rule.id in ("", "*", NOT_PROVEN_HARMLESS_ID, ASKED_ID, DENIED_ID):
                raise InvalidPolicy(f"There is a rule {rule.id!r} already. Give yours another id.")
            known.add(rule.id)
        for name in (*self.decisions, *(exemption.rule for exemption in self.exemptions)):
            if name not in known and name != "*":
                raise InvalidPolicy(f"There is no rule {name!r}.{_nearest(name, known)}")
        if isinstance(self.plain, str):
            raise InvalidPolicy(f"plain={self.plain!r} is one text. Give a set of names: plain={{'ls', 'cat'}}")
        decisions = {name: decision_of(decision) for name, decision in self.decisions.items()}
        own = tuple(replace(rule, decision=decision_of(rule.decision)) for rule in self.custom_rules)
        object.__setattr__(self, "decisions", decisions)
        object.__setattr__(self, "custom_rules", own)
        object.__setattr__(self, "default_decision", decision_of(self.default_decision))


def decision_of(word: str) -> Decision:
    """The decision that a word is."""
    try:
        return Decision(word)
    except ValueError as error:
        raise InvalidPolicy(f"{error}: a decision is 'allow', 'ask' or 'refuse'.") from error


def _nearest(name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else " `nacre rules` lists them."


DEFAULT = Policy()
EVERYTHING = Policy(decisions={"*": Decision.ALLOW})
"""Only the floor is left."""
