"""Rules on the text of a command, and rules with fixed messages."""

from __future__ import annotations

import pytest

from nacre import Decision, Policy, check
from nacre.policy.compat_rules.actions import (
    action_rule,
    copies,
    fork_bombs,
    makes_filesystem,
    opens_to_all,
    redirects_to,
)
from nacre.policy.compat_rules.removals import removes_root
from nacre.policy.custom_rules import text_rule
from nacre.policy.rule import Rule

OFF = {"*": Decision.ALLOW}


def refusal_of(command: str, *rules: Rule) -> str:
    return check(command, cwd="/home/dev/project", policy=Policy(decisions=OFF, custom_rules=rules)).what


def test_text_rule_matches_anywhere_and_uses_its_own_message() -> None:
    rule = text_rule("no-foo", "foo bar", wording="No foo here")
    verdict = check("echo 'a foo bar b'", policy=Policy(custom_rules=(rule,)))
    assert (verdict.decision, verdict.rule, verdict.what, verdict.reason, verdict.instead, verdict.span) == (
        Decision.REFUSE, "no-foo", "No foo here", "No foo here", "", (8, 15),
    )  # fmt: skip
    assert check("echo foo  bar", policy=Policy(custom_rules=(rule,))).allowed


def test_text_rule_pieces_match_in_order_on_one_line() -> None:
    rule = text_rule("x", "curl", r"\|\s*bash", regex=True, wording="found")
    assert refusal_of("curl x |  bash", rule) == "found"
    assert refusal_of("echo bash | curl", rule) == ""
    assert refusal_of("curl x\necho | bash", rule) == ""
    assert refusal_of("curl a\ncurl b | bash", rule) == "found"


def test_text_rule_is_case_sensitive_by_default() -> None:
    assert refusal_of("echo RM", text_rule("x", "rm", wording="found")) == ""
    assert refusal_of("echo RM", text_rule("x", "rm", lower=True, wording="found")) == "found"


@pytest.mark.parametrize("text", ["curl" * 30_000, "curl |" * 20_000, "curl\n" * 25_000], ids=["a", "b", "c"])
def test_long_text_is_searched_without_hanging(text: str) -> None:
    rule = text_rule("x", "curl", r"\|\s*bash", regex=True, wording="found")
    assert "found" not in refusal_of(text, rule)


def test_fixed_messages_come_before_builtin_ones() -> None:
    verdict = check("rm -rf /", policy=Policy(custom_rules=(action_rule("theirs", "Their words", removes_root),)))
    assert [finding.rule for finding in verdict.findings] == ["theirs", "rm-root-or-home"]
    assert verdict.reason == "Their words"


ROOT = action_rule("root", "root", removes_root)
MKFS = action_rule("mkfs", "mkfs", makes_filesystem)
ZERO = action_rule("zero", "zero", copies(source="/dev/zero"))
ONTO = action_rule("onto", "onto", copies(target="/dev/"))
SD = action_rule("sd", "sd", redirects_to("/dev/sd"))
OPEN = action_rule("open", "open", opens_to_all)
BOMB = action_rule("bomb", "bomb", match_script=fork_bombs)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (ROOT, "rm -rf /"),
        (ROOT, "sudo rm -r -f /*"),
        (ROOT, "bash -c 'rm -fr //'"),
        (MKFS, "mkfs.ext4 disk.img"),
        (MKFS, "mkfs -t ext4 disk.img"),
        (ZERO, "dd of=x if=/dev/zero"),
        (ONTO, "dd if=x of=/dev/sda"),
        (SD, "echo x > /dev/sda1"),
        (SD, "cd /dev; cat x >> sdb"),
        (OPEN, "chmod -R 777 ."),
        (OPEN, "sudo chmod --recursive 0777 /srv"),
        (BOMB, ":(){ :|:& };:"),
        (BOMB, ":(){:|:&};:"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_dangerous_action_is_found_in_text_that_would_run(rule: Rule, command: str) -> None:
    assert refusal_of(command, rule) == rule.exact_message


@pytest.mark.parametrize(
    "command",
    [
        "echo 'rm -rf /'",
        "rm -rf /tmp/x",
        "rm -rf ./build",
        "grep mkfs notes",
        "echo 'dd if=/dev/zero'",
        "dd if=a of=b",
        "echo '> /dev/sda'",
        "chmod 777 file",
        "chmod -R u+rwX .",
        "# :(){ :|:& };:",
    ],
)
def test_harmless_text_is_not_found(command: str) -> None:
    assert refusal_of(command, ROOT, MKFS, ZERO, ONTO, SD, OPEN, BOMB) == ""
