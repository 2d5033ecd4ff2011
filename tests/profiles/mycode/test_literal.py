"""`literal=True`: the proposal's own patterns on the text, each compared with the regular expression itself."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nacre import Policy, check
from nacre.policy.rule import CheckContext
from nacre.profiles.mycode import DEFAULT_CONFIG, MYCODE, mycode
from nacre.shell.command import Script

POLICY = mycode(literal=True).policy
PATTERNS = {
    r"rm\s+-rf\s+\/": "Recursive delete from root",
    r">\s*\/dev\/sd": "Writing to block device",
    r"chmod\s+-R\s+777": "Insecure permissions",
    r"mkfs": "Making a filesystem",
    r"dd\s+if=.*of=\/dev": "Writing to a device with dd",
    r">\s*\/etc": "Writing to /etc",
    r"curl.*\|\s*bash": "Piping a download to a shell",
}
SIZE, MUCH = 100_000, 2_000_000


def refusal_of_text(text: str) -> str:
    """Return the refusal of a text alone: these rules look at nothing else."""
    for rule in POLICY.custom_rules:
        assert rule.match_script is not None
        if rule.match_script(Script(text), CheckContext("/", "/root")):
            return rule.exact_message
    return ""


SPACE = "[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
NO_LINE_END = "[^\n\r\u2028\u2029]"


def refusal_by_document(text: str) -> str:
    """Return the result of the proposal's checkSafety, and then of SAFETY_PATTERNS; `\\s` and `.` are JavaScript's."""
    for blocked in DEFAULT_CONFIG["blockedCommands"]:
        if blocked in text:
            return f"Command contains blocked pattern: {blocked}"
    ported = {each.replace(r"\s", SPACE).replace(".", NO_LINE_END): reason for each, reason in PATTERNS.items()}
    return next((reason for pattern, reason in ported.items() if re.search(pattern, text)), "")


@pytest.mark.req("M-09")
@pytest.mark.parametrize(
    "text",
    [
        "rm -rf /",
        "rm -rf /tmp/x",
        "echo 'rm -rf /'",
        "rm  -rf  /",
        "rm\n-rf\n/",
        "rm -fr /",
        "man mkfs",
        "dd if=/dev/zero",
        "dd if=/dev/sda of=/dev/null",
        "dd if=x\nof=/dev/sda",
        "dd if=a dd\nif=b of=/dev/sda",
        "dd of=/dev/sda if=x",
        ":(){:|:&};:",
        ":(){ :|:& };:",
        "> /dev/sda",
        "2>/dev/sda",
        "x >\n\n/etc/hosts",
        "x > /etcetera",
        "chmod -R 7770 x",
        "chmod 777 -R x",
        "curl x | bash",
        "curl x |\n\tbash",
        "curl x\n| bash",
        "curl curl\ncurl x | y |bash",
        "cURL x | bash",
        "wget x | bash",
        "curl x\r| bash",
        "curl x\u2028| bash",
        "curl x\u2029| bash",
        "curl x\v\f\x85\x1c| bash",
        "dd if=a\rof=/dev/x",
        "dd\u2003if=a of=/dev/x",
        "rm\ufeff-rf\u00a0/",
        "rm\x1c-rf /x",
        "rm\x85-rf /x",
        "curl x | sh",
        "ls",
        "",
    ],
)
def test_literal_policy_agrees_with_the_regular_expressions(text: str) -> None:
    assert refusal_of_text(text) == refusal_by_document(text)


ODD = ["\r", "\u2028", "\u2029", "\x85", "\x1c", "\ufeff", "\u00a0", "\v"]
WORDS = ["rm", " ", "\n", "-rf", "/", "dd", "if=", "of=/dev", ">", "/etc", "/dev/sd", "curl", "|", "bash", "mkf", "s"]


@pytest.mark.req("M-09")
@given(st.lists(st.sampled_from([*WORDS, *ODD, "chmod", "-R", "777", "x"]), max_size=14).map("".join))
@example("dd if=dd\nif=of=/dev")
@settings(deadline=None, max_examples=400)
def test_literal_policy_agrees_with_the_regexes_on_generated_text(text: str) -> None:
    assert refusal_of_text(text) == refusal_by_document(text)


PIECES = [
    "curl",
    "curl\n",
    "curl |",
    "|",
    "| ",
    "dd if=",
    "dd if=\n",
    "dd ",
    "rm ",
    "rm -rf ",
    "> ",
    ">",
    " ",
    "\n",
    "x",
]


@pytest.mark.req("M-09")
@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_matching_long_repetitive_text_finishes(piece: str) -> None:
    """The text is so long that a search that restarts over and over would not finish."""
    refusal_of_text((piece * MUCH)[:MUCH])


@pytest.mark.req("M-09")
@pytest.mark.slow
@pytest.mark.parametrize("policy", [POLICY, MYCODE.policy], ids=["literal", "deeds"])
@pytest.mark.parametrize("piece", ["curl", "dd if=\n", "curl x | ", "curl|f|bash -c x;"], ids=repr)
def test_check_of_a_hundred_kilobytes_finishes(piece: str, policy: Policy) -> None:
    check((piece * SIZE)[:SIZE], cwd="/home/dev", policy=policy)


@pytest.mark.req("M-09")
@pytest.mark.parametrize(
    "command", ["git push -f", "wget -qO- x | sh", "tee /dev/sda < x", "perl -e 'fork while fork'"]
)
def test_literal_policy_allows_commands_outside_its_patterns(command: str) -> None:
    assert check(command, cwd="/home/dev", policy=POLICY).allowed


@pytest.mark.req("M-09")
def test_literal_policy_keeps_the_rules_of_every_policy() -> None:
    assert check("rm -fr /", cwd="/home/dev", policy=POLICY).rule == "rm-root-or-home"


@pytest.mark.req("M-09", "M-03")
def test_blocked_commands_of_the_caller_are_matched_before_the_patterns() -> None:
    policy = mycode(literal=True, blockedCommands=["foo"]).policy
    assert check("rm -rf /; foo", policy=policy).what == "Command contains blocked pattern: foo"
    assert check("rm -rf /tmp/x", policy=policy).what == "Recursive delete from root"
    assert check("echo mkfs", policy=policy).what == "Making a filesystem"
