"""Policies: decisions for nacre's rules, custom rules, exemptions, permissions and a default decision. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import normpath

from nacre.base.frozen import field, frozen, replace
from nacre.errors import InvalidPolicy
from nacre.policy.permissions.patterns import Permissions
from nacre.policy.rule import Rule
from nacre.policy.rules import MODULES_BY_ID
from nacre.verdict import ASKED_ID, DENIED_ID, NOT_PROVEN_HARMLESS_ID, Decision


@frozen
class Exemption:
    """An exception to one rule at one place: `Exemption("write-etc", "/etc/hosts")`."""

    rule: str
    """Id of one rule; to switch all of them off, use `Policy(decisions={"*": Decision.ALLOW})`."""
    path: str = "**"
    """Absolute path; `*` matches any text without `/`, `**` any text. By default, everywhere."""

    def __post_init__(self) -> None:
        if self.rule == "*":
            raise InvalidPolicy("An exemption applies to one rule. For all rules: Policy(decisions={'*': 'allow'}).")
        if not self.path.startswith(("/", "**")) or normpath(self.path) != self.path:
            raise InvalidPolicy(
                f"The path of an exemption must be absolute, without `..` or a trailing slash: {self.path!r}."
            )


@frozen(kw_only=True)
class Policy:
    """The rules that apply, and their decisions."""

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    """Decisions by rule id, instead of the rules' own; ALLOW switches a rule off. Mandatory rules keep their decision.
    """
    custom_rules: tuple[Rule, ...] = ()
    """Custom rules, made by `nacre.policy.custom_rules.rule`."""
    exemptions: tuple[Exemption, ...] = ()
    default_decision: Decision = Decision.ALLOW
    """For commands that no rule stops and that are not provably plain. ASK: only plain ones run without a prompt."""
    plain: frozenset[str] | None = None
    """Commands that may count as plain; None: nacre's own list."""
    permissions: Permissions = Permissions()
    """Rules in the syntax that agents share: `Permissions(allow=("Bash(npm test:*)",), deny=("Bash(git push:*)",))`."""

    def __post_init__(self) -> None:
        """Validate the policy, and convert decisions given as strings. InvalidPolicy: a value would have no effect."""
        known = set(MODULES_BY_ID)
        for rule in self.custom_rules:
            if rule.id in known or rule.id in ("", "*", NOT_PROVEN_HARMLESS_ID, ASKED_ID, DENIED_ID):
                raise InvalidPolicy(f"A rule {rule.id!r} already exists. Give yours another id.")
            known.add(rule.id)
        for name in (*self.decisions, *(exemption.rule for exemption in self.exemptions)):
            if name not in known and name != "*":
                from nacre.base.suggest import did_you_mean  # the checker starts without it

                hint = did_you_mean(name, known, "`nacre rules` lists them.")
                raise InvalidPolicy(f"Unknown rule {name!r}. {hint}")
        if isinstance(self.plain, str):
            raise InvalidPolicy(f"plain={self.plain!r} is one string. Give a set of names: plain={{'ls', 'cat'}}")
        decisions = {name: decision_of(decision) for name, decision in self.decisions.items()}
        own = tuple(replace(rule, decision=decision_of(rule.decision)) for rule in self.custom_rules)
        object.__setattr__(self, "decisions", decisions)
        object.__setattr__(self, "custom_rules", own)
        object.__setattr__(self, "default_decision", decision_of(self.default_decision))


def decision_of(word: str) -> Decision:
    """Return the decision with this name. InvalidPolicy: there is none."""
    try:
        return Decision(word)
    except ValueError as error:
        raise InvalidPolicy(f"{error}: a decision is 'allow', 'ask' or 'refuse'.") from error


DEFAULT = Policy()
EVERYTHING = Policy(decisions={"*": Decision.ALLOW})
"""Allows everything, except what mandatory rules stop."""
