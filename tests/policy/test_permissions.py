"""Permission rules: which commands they match, which rule wins, and what the checker answers with them."""

from __future__ import annotations

import pytest

from nacre import Decision, Policy, check
from nacre.errors import InvalidPolicy
from nacre.policy.permissions.match import PermissionResult, apply_permissions
from nacre.policy.permissions.patterns import Permissions, pattern_of
from nacre.shell import read
from tests.policy.permission_decisions import HERE, HOME, is_allowed, is_denied, permission_of

# Statements of the published contract on single commands: https://code.claude.com/docs/en/permissions, read on
# 2026-11-16 (the page names version 2.1.211 of Claude Code).
CONTRACT = [
    ("Bash", "anything --at all", True),
    ("Bash(*)", "anything --at all", True),
    ("Bash(npm run build)", "npm run build", True),
    ("Bash(npm run build)", "npm run build --watch", False),
    ("Bash(npm run build)", "npm run", False),
    ("Bash(npm run test *)", "npm run test", True),
    ("Bash(npm run test *)", "npm run test --watch", True),
    ("Bash(npm run test:*)", "npm run test -- x y", True),
    ("Bash(npm run test:*)", "npm run testing", False),
    ("Bash(npm run test:unit)", "npm run test:unit", True),
    ("Bash(npm *)", "npm install lodash", True),
    ("Bash(* install)", "npm install", True),
    ("Bash(* install)", "npm install x", False),
    ("Bash(git * main)", "git checkout main", True),
    ("Bash(git * main)", "git log --oneline main", True),
    ("Bash(git * main)", "git push origin main", True),
    ("Bash(git * main)", "git main", False),
    ("Bash(ls *)", "ls -la", True),
    ("Bash(ls *)", "lsof", False),
    ("Bash(ls:*)", "ls -la", True),
    ("Bash(ls:*)", "lsof", False),
    ("Bash(ls*)", "ls -la", True),
    ("Bash(ls*)", "lsof", True),
    ("Bash(git:* push)", "git push", False),
    ("Bash(npm test *)", "timeout 30 npm test", True),
    ("Bash(npm test *)", "nice nohup npm test", True),
    ("Bash(safe-cmd *)", "safe-cmd x", True),
    ("Read(./.env)", "cat .env", False),
    ("mcp__puppeteer__*", "ls", False),
]


@pytest.mark.parametrize(("rule", "command", "expected"), CONTRACT)
def test_permission_rules_match_as_documented(rule: str, command: str, expected: bool) -> None:
    assert is_denied(command, rule) == expected
    assert is_allowed(command, rule) == expected


def test_deny_wins_over_ask_and_ask_over_allow() -> None:
    special, broad = ("Bash(aws s3 ls)",), ("Bash(aws *)",)
    assert permission_of("aws s3 ls", allow=special, deny=broad) == "refuse Bash(aws *)"
    assert permission_of("aws s3 ls", allow=special, ask=broad) == "ask Bash(aws *)"
    assert permission_of("aws s3 ls", ask=special, deny=broad) == "refuse Bash(aws *)"
    assert permission_of("aws s3 ls", allow=special) == "allow Bash(aws s3 ls)"
    assert permission_of("ls", deny=broad) == ""


@pytest.mark.parametrize("name", ["*", "B*", "Ba*h"])
def test_tool_name_glob_works_in_deny_but_not_in_allow(name: str) -> None:
    assert is_denied("ls", name)
    assert not is_allowed("make", name)


@pytest.mark.parametrize("command", ["cat ~/.ssh/key", "cat $HOME/.ssh/key", f"cat {HOME}/.ssh/key"])
@pytest.mark.parametrize("rule", ["Bash(cat ~/.ssh/*)", "Bash(cat $HOME/.ssh/*)"])
def test_home_in_a_rule_matches_home_in_a_command(rule: str, command: str) -> None:
    assert is_denied(command, rule)
    assert is_allowed(command, rule)


@pytest.mark.parametrize("rule", ["Bash(ls", "Bash()", "Bash( )", "Bash(:*)x"])
def test_malformed_permission_rule_is_an_error(rule: str) -> None:
    with pytest.raises(InvalidPolicy):
        Permissions(allow=(rule,))


@pytest.mark.parametrize("rule", ["bash(rm:*)", "BASH(rm:*)", "rm", "rm:*", "git push:*", "Shell(rm)", "~/bin/x"])
def test_deny_rule_that_names_no_tool_is_an_error(rule: str) -> None:
    with pytest.raises(InvalidPolicy, match="names no tool"):
        Permissions(deny=(rule,))


def test_string_instead_of_a_rule_list_is_an_error() -> None:
    with pytest.raises(InvalidPolicy, match="is one string"):
        Permissions(deny="Bash(ls)")  # type: ignore[arg-type]


def test_pattern_with_many_stars_matches_without_hanging() -> None:
    stars = f"Bash({'a*' * 200}b)"
    assert not is_denied("a" * 20_000, stars)
    assert pattern_of(stars) is not None


# with the checker
ASKS, REFUSES, FLOOR = "git stash drop", "git push -f", "rm -rf /"


def verdict(command: str, policy: Policy | None = None, **rules: tuple[str, ...]) -> tuple[str, str, str]:
    base = policy or Policy()
    changed = Policy(decisions=base.decisions, default_decision=base.default_decision, permissions=Permissions(**rules))
    found = check(command, cwd=HERE, env={"HOME": HOME}, policy=changed)
    return found.decision.value, found.rule, found.permitted


def test_allow_rule_answers_a_question_of_the_checker() -> None:
    assert verdict(ASKS) == ("ask", "git-stash-drop", "")
    assert verdict(ASKS, allow=("Bash(git stash:*)",)) == ("allow", "", "Bash(git stash:*)")
    assert verdict(f"{ASKS}; make", allow=("Bash(git stash:*)",)) == ("ask", "git-stash-drop", "")


@pytest.mark.parametrize("command", [REFUSES, FLOOR])
def test_allow_rule_does_not_lift_a_refusal(command: str) -> None:
    assert verdict(command, allow=("Bash",))[0] == "refuse"


def test_allow_rule_answers_a_refusal_that_a_policy_turned_into_a_question() -> None:
    asks = Policy(decisions={"git-push-force": Decision.ASK})
    assert verdict(REFUSES, asks, allow=("Bash(git push:*)",)) == ("allow", "", "Bash(git push:*)")
    assert verdict(FLOOR, asks, allow=("Bash",))[0] == "refuse"


def test_allow_rule_extends_the_plain_commands() -> None:
    strict = Policy(default_decision=Decision.ASK)
    assert verdict("make", strict) == ("ask", "not-plain", "")
    assert verdict("cd src && make | tail", strict, allow=("Bash(make)",)) == ("allow", "", "Bash(make)")
    assert verdict("ls", strict, ask=("Bash(ls:*)",)) == ("ask", "permission-ask", "")


def test_denied_verdict_names_the_rule_and_the_wrapper() -> None:
    found = check(
        "cd x && sudo npm publish", cwd=HERE, policy=Policy(permissions=Permissions(deny=("Bash(npm publish:*)",)))
    )
    assert (found.decision, found.rule, found.findings[0].via) == (Decision.REFUSE, "permission-deny", ("sudo",))
    assert found.reason == (
        "`npm publish` is denied by the permission rule `Bash(npm publish:*)`. Instead: do without it, or ask the user"
    )


def test_empty_permissions_give_no_decision() -> None:
    assert apply_permissions(read("ls", cwd=HERE, home=HOME), Permissions()) == PermissionResult()
    assert not Permissions()
