"""Script → Verdict. A guardrail, not a security boundary: it catches mistakes, not an adversary with patience."""
