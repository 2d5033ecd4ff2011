"""Judge a script by a policy. A guardrail, not a security boundary: it catches mistakes, not a patient adversary."""
