"""What the checker says of a text."""

from __future__ import annotations

from enum import StrEnum

from nacre.base.frozen import frozen

NOT_PROVEN_HARMLESS = "The command is not provably plain, and this policy lets only plain commands run unasked"


NOT_PROVEN_HARMLESS_ID = "not-plain"
DENIED_ID = "permission-deny"
ASKED_ID = "permission-ask"
"""Stand where the id of a rule would."""


class Decision(StrEnum):
    """The strictest of several wins."""

    ALLOW = "allow"
    ASK = "ask"
    REFUSE = "refuse"

    @property
    def strictness(self) -> int:
        return ("allow", "ask", "refuse").index(self.value)


@frozen
class Finding:
    """One rule, one place in the text."""

    rule: str
    decision: Decision
    start: int
    end: int
    words: str
    """What was found, as a reader would write it."""
    reason: str
    instead: str
    via: tuple[str, ...] = ()
    """The wrappers it stands in, outermost first."""
    wording: str = ""
    """What is said of it, word for word, where the rule fixes that."""

    @property
    def what(self) -> str:
        """The words and what is wrong with them."""
        return self.wording or f"`{self.words}` {self.reason}"

    @property
    def message(self) -> str:
        """For the model: what, why, and what to do instead."""
        return f"{self.what}. Instead: {self.instead}" if self.instead else self.what


@frozen
class ApprovalInput:
    """A text that comes with a command, and does not stand in it."""

    label: str
    """`stdin`, `$NAME`."""
    text: str
    executed: bool = False
    """The checker has read it as a script."""


@frozen
class ApprovalRequest:
    """What a person is asked about: all of what would run, and where."""

    command: str
    cwd: str
    inputs: tuple[ApprovalInput, ...] = ()


@frozen
class Verdict:
    """Allow, ask or refuse; and why."""

    decision: Decision
    findings: tuple[Finding, ...] = ()
    """Strictest first."""
    unknown: tuple[str, ...] = ()
    """What only running it would tell."""
    plain: bool = False
    """Provably harmless: every word known, only commands of the policy's list in harmless uses; git with
    `nacre.policy.facts.harmless.GIT_ENVIRONMENT`."""
    approval_request: ApprovalRequest | None = None
    """What it is about, where a person is asked (`ToolContext.approve`): to be shown in full."""
    permitted: str = ""
    """The permission rule that has answered, where the checker would have asked."""

    @property
    def allowed(self) -> bool:
        return self.decision is Decision.ALLOW

    @property
    def refused(self) -> bool:
        return self.decision is Decision.REFUSE

    @property
    def rule(self) -> str:
        return self.findings[0].rule if self.findings else NOT_PROVEN_HARMLESS_ID if not self.allowed else ""

    @property
    def span(self) -> tuple[int, int]:
        """Where in the text, in characters."""
        return (self.findings[0].start, self.findings[0].end) if self.findings else (0, 0)

    @property
    def what(self) -> str:
        """The words and what is wrong with them."""
        return self.findings[0].what if self.findings else NOT_PROVEN_HARMLESS if not self.allowed else ""

    @property
    def reason(self) -> str:
        """For the model: what, why, and what to do instead."""
        if self.findings:
            return self.findings[0].message
        return f"{NOT_PROVEN_HARMLESS}. Instead: {self.instead}" if not self.allowed else ""

    @property
    def instead(self) -> str:
        if self.findings:
            return self.findings[0].instead
        return "use plain commands of the allowed list, or ask the user" if not self.allowed else ""

    def to_dict(self) -> dict[str, object]:
        return {
            "decision": self.decision.value,
            "rule": self.rule,
            "reason": self.reason,
            "instead": self.instead,
            "span": list(self.span),
            "plain": self.plain,
            "permitted": self.permitted,
            "unknown": list(self.unknown),
            "findings": [
                {
                    "rule": each.rule,
                    "decision": each.decision.value,
                    "span": [each.start, each.end],
                    "words": each.words,
                    "reason": each.message,
                    "instead": each.instead,
                    "via": list(each.via),
                }
                for each in self.findings
            ],
        }
