"""Verdict of the checker on a command."""

from __future__ import annotations

from enum import StrEnum

from nacre.base.frozen import frozen

NOT_PROVEN_HARMLESS = (
    "The command is not provably harmless, and this policy runs only provably harmless commands without approval"
)


NOT_PROVEN_HARMLESS_ID = "not-plain"
DENIED_ID = "permission-deny"
ASKED_ID = "permission-ask"
"""Ids used in place of a rule's id."""


class Decision(StrEnum):
    """Answer of the checker. Of several, the strictest applies."""

    ALLOW = "allow"
    ASK = "ask"
    REFUSE = "refuse"

    @property
    def strictness(self) -> int:
        """Rank of the decision: 0 for `allow`, 1 for `ask`, 2 for `refuse`."""
        return ("allow", "ask", "refuse").index(self.value)


@frozen
class Finding:
    """A rule that matched at one place of the command."""

    rule: str
    decision: Decision
    start: int
    end: int
    words: str
    """The matched words, as a reader would write them."""
    reason: str
    instead: str
    via: tuple[str, ...] = ()
    """The enclosing wrapper commands, outermost first."""
    wording: str = ""
    """Exact message, if the rule defines one."""

    @property
    def what(self) -> str:
        """The matched words and what is wrong with them."""
        return self.wording or f"`{self.words}` {self.reason}"

    @property
    def message(self) -> str:
        """Explanation for the model: the match, the reason, and what to do instead."""
        return f"{self.what}. Instead: {self.instead}" if self.instead else self.what


@frozen
class ApprovalInput:
    """Text that is passed to a command but is not part of it."""

    label: str
    """Source of the text: `stdin` or `$NAME`."""
    text: str
    executed: bool = False
    """Whether the checker has parsed the text as a script."""


@frozen
class ApprovalRequest:
    """Everything that a person is asked to approve: the command, its working directory and its input texts."""

    command: str
    cwd: str
    inputs: tuple[ApprovalInput, ...] = ()


@frozen
class Verdict:
    """The checker's decision on a command, with its reasons."""

    decision: Decision
    findings: tuple[Finding, ...] = ()
    """Findings, strictest first."""
    unknown: tuple[str, ...] = ()
    """Parts of the command that are known only at run time."""
    plain: bool = False
    """Whether the command is provably harmless: every word is known, and only commands of the policy's list occur, in
    harmless uses. For git this holds with `nacre.policy.facts.harmless.GIT_ENVIRONMENT`."""
    approval_request: ApprovalRequest | None = None
    """Complete content to show to the person who is asked (`ToolContext.approve`); else None."""
    permitted: str = ""
    """The permission rule that allowed the command where the checker would have asked."""

    @property
    def allowed(self) -> bool:
        """Whether the command may run without asking."""
        return self.decision is Decision.ALLOW

    @property
    def refused(self) -> bool:
        """Whether the command is refused."""
        return self.decision is Decision.REFUSE

    @property
    def rule(self) -> str:
        """Id of the strictest finding's rule; `not-plain` without findings; empty if allowed."""
        return self.findings[0].rule if self.findings else NOT_PROVEN_HARMLESS_ID if not self.allowed else ""

    @property
    def span(self) -> tuple[int, int]:
        """Position of the first finding in the command, in characters; (0, 0) if there is none."""
        return (self.findings[0].start, self.findings[0].end) if self.findings else (0, 0)

    @property
    def what(self) -> str:
        """The matched words and what is wrong with them; empty if allowed."""
        return self.findings[0].what if self.findings else NOT_PROVEN_HARMLESS if not self.allowed else ""

    @property
    def reason(self) -> str:
        """Explanation for the model: the match, the reason, and what to do instead; empty if allowed."""
        if self.findings:
            return self.findings[0].message
        return f"{NOT_PROVEN_HARMLESS}. Instead: {self.instead}" if not self.allowed else ""

    @property
    def instead(self) -> str:
        """Suggested alternative of the strictest finding; empty if allowed."""
        if self.findings:
            return self.findings[0].instead
        return "use commands of the allowed list, or ask the user" if not self.allowed else ""

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
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
