"""What the checker says of a text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Decision(IntEnum):
    """The strictest of several wins."""

    ALLOW = 0
    ASK = 1
    REFUSE = 2

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
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

    @property
    def message(self) -> str:
        """For the model: what, why, and what to do instead."""
        return f"`{self.words}` {self.reason}. Instead: {self.instead}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Allow, ask or refuse; and why."""

    decision: Decision
    findings: tuple[Finding, ...] = ()
    """Strictest first."""
    unknown: tuple[str, ...] = ()
    """What only running it would tell."""
    plain: bool = False
    """Provably harmless: every word known, only commands of the policy's list in harmless uses."""

    @property
    def allowed(self) -> bool:
        return self.decision is Decision.ALLOW

    @property
    def refused(self) -> bool:
        return self.decision is Decision.REFUSE

    @property
    def rule(self) -> str:
        return self.findings[0].rule if self.findings else ""

    @property
    def span(self) -> tuple[int, int]:
        """Where in the text, in characters."""
        return (self.findings[0].start, self.findings[0].end) if self.findings else (0, 0)

    @property
    def reason(self) -> str:
        return self.findings[0].message if self.findings else ""

    @property
    def instead(self) -> str:
        return self.findings[0].instead if self.findings else ""

    def to_dict(self) -> dict[str, object]:
        return {
            "decision": self.decision.word,
            "rule": self.rule,
            "reason": self.reason,
            "instead": self.instead,
            "span": list(self.span),
            "plain": self.plain,
            "unknown": list(self.unknown),
            "findings": [
                {
                    "rule": each.rule,
                    "decision": each.decision.word,
                    "span": [each.start, each.end],
                    "words": each.words,
                    "reason": each.message,
                    "instead": each.instead,
                    "via": list(each.via),
                }
                for each in self.findings
            ],
        }
