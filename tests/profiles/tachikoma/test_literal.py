"""`literal=True`: the document's own rules, compared with a port of its validator on any text."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nacre import check
from nacre.compat.tachikoma import BashOptions, CommandValidator, Validation
from nacre.policy.rule import CheckContext
from nacre.profiles.tachikoma import BLOCKED, policy
from nacre.shell.command import Script

OWN = "Git Push"
RULES = policy((*BLOCKED, OWN), literal=True).custom_rules
TRIPLES = [("rm", "-rf", "/"), ("dd", "if=", "/dev/"), ("nc", "-e", "/bin/"), ("ncat", "-e", "/bin/")]
DANGEROUS = "Command appears to be dangerous"


def refusal_of_text(text: str) -> str:
    """Return the refusal of a text alone: these rules look at nothing else."""
    for rule in RULES:
        assert rule.match_script is not None
        if rule.match_script(Script(text), CheckContext("/", "/root")):
            return rule.exact_message
    return ""


def refusal_by_document(text: str) -> str:
    for pattern in (*BLOCKED, OWN):
        if pattern in text:
            return f"Command contains blocked pattern: {pattern}"
    lower = text.lower()
    if any(all(piece in lower for piece in triple) for triple in TRIPLES):
        return DANGEROUS
    return DANGEROUS if "base64" in lower and ("|bash" in lower or "| bash" in lower) else ""


PIECES = [
    "rm",
    "RM",
    " ",
    "\n",
    "-rf",
    "-RF",
    "/",
    "dd",
    "DD",
    "if=",
    "IF=",
    "/dev/",
    "zero",
    "nc",
    "NC",
    "at",
    "-e",
    "-E",
]
PIECES += ["/bin/", "/BIN/", "base64", "BASE64", "|", "bash", "BaSh", "mkfs", "MKFS", ">", "sd", ":(){ :|:& };:", OWN]
PIECES += ["\u017f", "\u0131", "\u0130", "\u212a", "x", "git push", "mkf", "ba", "ba\u017fe64"]


@pytest.mark.req("K-04")
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("mkf\u017f x")
@example("dd \u0131f=/dev/zero")
@example("nc -e /b\u0131n/sh")
@example("MKFS")
@example("dd if=/dev/zeroMKFS")
@example("\u0130base64|BASH")
@example("git push")
@settings(deadline=None, max_examples=500)
def test_literal_rules_agree_with_the_document_on_generated_text(text: str) -> None:
    assert refusal_of_text(text) == refusal_by_document(text)


@pytest.mark.req("K-04")
def test_literal_patterns_are_case_sensitive() -> None:
    CommandValidator(["Git Push"], literal=True).validate("git push")
    with pytest.raises(Validation, match="blocked pattern: Git Push"):
        CommandValidator(["Git Push"], literal=True).validate("echo Git Push")
    with pytest.raises(Validation, match="blocked pattern: Git Push"):
        CommandValidator(["Git Push"]).validate("echo git push")


def test_match_span_is_right_when_lowercasing_lengthens_the_text() -> None:
    verdict = check("echo \u0130\u0130 BASE64 |bash", policy=policy((), literal=True))
    assert (verdict.what, verdict.span) == (DANGEROUS, (0, 20))


@pytest.mark.req("K-02", "K-04")
def test_block_command_keeps_the_pattern_unchanged() -> None:
    assert BashOptions().block_command("Git Push").literal().values.blocked_commands[-1] == "Git Push"
