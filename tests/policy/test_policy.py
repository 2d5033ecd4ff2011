"""Policies: decisions, the floor, exemptions by place, custom rules, and mistakes in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nacre import Decision, Policy, check
from nacre.errors import InvalidPolicy, InvalidRequest
from nacre.policy.custom_rules import InvalidRule, rule
from nacre.policy.policy import EVERYTHING, Exemption
from nacre.policy.rules import MODULES_BY_ID
from tests.policy.test_corpus import verdict

NOTHING_LEFT = Policy(
    decisions={"*": Decision.ALLOW, **dict.fromkeys(MODULES_BY_ID, Decision.ALLOW)},
    exemptions=tuple(Exemption(name) for name in MODULES_BY_ID),
)


@pytest.mark.parametrize("policy", [EVERYTHING, NOTHING_LEFT], ids=["everything", "nothing left"])
@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -rf ~",
        "sudo rm -rf /*",
        "rm -rf /home",
        "rm -rf /home/*",
        "rm -rf /root",
        "find / -delete",
        "find ~ -type f -delete",
        "python3 -c \"import shutil; shutil.rmtree('/')\"",
    ],
)
def test_no_policy_allows_deleting_the_root_or_a_home_directory(command: str, policy: Policy) -> None:
    assert verdict(command, policy=policy).refused


def test_every_other_rule_can_be_switched_off() -> None:
    for command in ("git push -f", "rm -rf *", "curl x | sh", "echo x > /etc/hosts", "kill -9 -1"):
        assert verdict(command, policy=EVERYTHING).allowed


ETC = Policy(exemptions=(Exemption("write-etc", "/etc/hosts"),))


@pytest.mark.parametrize("command", ["echo x > /etc/hosts", "sudo tee /etc/hosts", "cp hosts /etc/hosts"])
def test_exempted_path_is_allowed(command: str) -> None:
    assert verdict(command).refused
    assert verdict(command, policy=ETC).allowed


@pytest.mark.parametrize(
    "command",
    [
        "cp /etc/hosts /etc/passwd",
        "ln -s /etc/hosts /etc/passwd",
        "tee /etc/hosts /etc/passwd",
        "echo x > /etc/hosts 2> /etc/passwd",
        "cd /etc; echo x > passwd",
        "for f in hosts passwd; do echo x > /etc/$f; done",
    ],
)
def test_exempted_path_allows_no_other_path(command: str) -> None:
    assert verdict(command, policy=ETC).refused


def test_rule_about_the_working_directory_is_exempted_by_its_path() -> None:
    policy = Policy(exemptions=(Exemption("git-push-force", "/home/dev/project/**"),))
    assert verdict("git push -f", policy=policy).refused
    policy = Policy(exemptions=(Exemption("git-push-force", "/home/dev/project"),))
    assert verdict("git push -f", policy=policy).allowed
    assert verdict("git -C ../other push -f", policy=policy).refused
    assert verdict("cd ../other && git push -f", policy=policy).refused


def test_optional_rule_is_not_enabled_by_the_star_decision() -> None:
    strict = Policy(decisions={"*": Decision.REFUSE})
    assert verdict("ls; pwd", policy=strict).allowed
    assert verdict("git reset --hard", policy=strict).refused


def test_decisions_may_be_strings() -> None:
    assert verdict("git push -f", policy=Policy(decisions={"git-push-force": "allow"})).allowed  # type: ignore[dict-item]
    with pytest.raises(InvalidPolicy, match="'never'"):
        Policy(decisions={"git-push-force": "never"})  # type: ignore[dict-item]


def test_every_decision_field_accepts_strings_and_rejects_unknown_ones() -> None:
    assert Policy(default_decision="refuse").default_decision is Decision.REFUSE  # type: ignore[arg-type]
    with pytest.raises(InvalidPolicy, match="'bogus'"):
        Policy(default_decision="bogus")  # type: ignore[arg-type]
    own = rule("x", "ask", prefix="npm publish", hits=("npm publish",))  # type: ignore[arg-type]
    assert verdict("npm publish", policy=Policy(custom_rules=(own,))).decision is Decision.ASK
    own = replace(own, decision="refuse")  # type: ignore[arg-type]
    assert verdict("npm publish", policy=Policy(custom_rules=(own,))).decision is Decision.REFUSE
    with pytest.raises(InvalidPolicy, match="'bogus'"):
        Policy(custom_rules=(replace(own, decision="bogus"),))  # type: ignore[arg-type]
    with pytest.raises(InvalidPolicy, match="'bogus'"):
        rule("x", "bogus", prefix="x", hits=("x",))  # type: ignore[arg-type]


def test_plain_commands_must_be_a_set_of_names() -> None:
    assert check("ls", policy=Policy(default_decision=Decision.ASK, plain=frozenset(["ls"]))).allowed
    with pytest.raises(InvalidPolicy, match="set of names"):
        Policy(plain="false")  # type: ignore[arg-type]


def test_unknown_rule_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(InvalidPolicy, match=r"Unknown rule 'git-push-forc'\. Did you mean 'git-push-force'"):
        Policy(decisions={"git-push-forc": Decision.ALLOW})
    with pytest.raises(InvalidPolicy, match="Unknown rule"):
        Policy(exemptions=(Exemption("nothing-like-it", "/x"),))


def test_custom_rule_is_checked_against_its_examples() -> None:
    with pytest.raises(InvalidRule, match="does not match its own example"):
        rule("x", Decision.ASK, prefix="npm publish", hits=("npm pack",))
    with pytest.raises(InvalidRule, match="which it should not"):
        rule("x", Decision.ASK, words="npm *", hits=("npm publish",), passes=("sudo npm install",))
    with pytest.raises(InvalidRule, match="needs one of"):
        rule("x", Decision.ASK, hits=("x",))
    with pytest.raises(InvalidRule, match="needs an example"):
        rule("x", Decision.ASK, prefix="x")
    with pytest.raises(InvalidRule, match="ZeroDivisionError"):
        rule("x", Decision.ASK, predicate=lambda command: bool(1 / 0), hits=("x",))
    with pytest.raises(InvalidRule, match="too long"):
        rule("x", Decision.ASK, prefix="x", hits=("x",), reason="because " * 40)


def test_custom_rule_matches_words_by_glob_and_by_path() -> None:
    glob = rule("x", Decision.ASK, words="terraform * -auto-approve*", hits=("terraform apply -auto-approve",))
    path = rule("y", Decision.REFUSE, prefix="/usr/bin/npm publish", hits=("npm publish", "/opt/bin/npm publish"))
    policy = Policy(custom_rules=(glob, path))
    assert verdict("sudo bash -c 'terraform destroy -auto-approve -x'", policy=policy).rule == "terraform-destroy"
    assert verdict("terraform apply -auto-approve", policy=policy).rule == "x"
    assert verdict("terraform apply", policy=policy).allowed
    assert verdict("terraform " + "a" * 20_000, policy=Policy(custom_rules=(glob,))).allowed
    assert verdict("npm publish", policy=policy).rule == "y"


def test_custom_rule_matches_command_globs_that_may_be_its_words() -> None:
    glob = rule("x", Decision.ASK, words="terraform * -auto-approve*", hits=("terraform apply -auto-approve",))
    first = rule("y", Decision.ASK, prefix="npm publish", hits=("npm publish",))
    policy = Policy(custom_rules=(glob, first))
    for command in ("npm publis[h]", "n?m publish", "sudo /usr/bin/np? publ*", "npm p?blish --access public"):
        assert verdict(command, policy=policy).rule == "y", command
    for command in (
        "t?rraform apply -auto-approve",
        "terraform apply -auto-appr?ve",
        "terraform x '*' -auto-approv[e]",
    ):
        assert verdict(command, policy=policy).rule == "x", command
    for command in ("npm *", "npm 'publis[h]'", "npm pac[k]", "terraform plan *.tf", "terraform plan *", "ls *"):
        assert verdict(command, policy=policy).allowed, command


def test_rule_ids_must_be_unique() -> None:
    own = rule("x", Decision.ASK, prefix="npm publish", hits=("npm publish",))
    with pytest.raises(InvalidPolicy, match="A rule 'x' already"):
        Policy(custom_rules=(own, own))
    for taken in ("git-push-force", "*", "not-plain"):
        with pytest.raises(InvalidPolicy, match="already"):
            Policy(custom_rules=(replace(own, id=taken),))


def test_custom_predicate_is_tried_on_unexpected_commands() -> None:
    with pytest.raises(InvalidRule, match="IndexError"):
        rule("x", Decision.ASK, predicate=lambda command: command.argv[1] == "publish", hits=("npm publish",))
    with pytest.raises(InvalidRule, match="IndexError"):
        rule("x", Decision.ASK, predicate=lambda command: command.argv[0] == "npm", hits=("npm publish",))
    own = rule("x", Decision.ASK, predicate=lambda command: "publish" in command.args, hits=("npm publish",))
    assert verdict("npm publish", policy=Policy(custom_rules=(own,))).rule == "x"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"command": None}, "command"),
        ({"command": b"ls"}, "command"),
        ({"command": "l\0s"}, "command"),
        ({"command": "ls", "stdin": b""}, "stdin"),
        ({"command": "ls", "env": {"X": 5}}, "env"),
    ],
)
def test_invalid_argument_to_check_names_its_field(given: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        check(**given)  # type: ignore[arg-type]
    assert raised.value.field == field


@pytest.mark.parametrize(
    "env",
    [
        {"BASH_FUNC_ls%%": "() { rm -rf /; }"},
        {"BASH_ENV": "$(rm -rf /)"},
        {"GIT_SSH_COMMAND": "rm -rf /"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "rm -rf /"},
        {"PROMPT_COMMAND": "rm -rf /"},
    ],
)
def test_variables_that_contain_code_are_read_as_code(env: dict[str, str]) -> None:
    assert check("ls").allowed
    assert check("ls", env=env).refused


def test_given_variables_are_expanded() -> None:
    assert check('rm -rf "$X"').allowed
    assert check('rm -rf "$X"', env={"X": "/"}).refused
    assert check('rm -rf "$X"/*', env={"X": "build"}).allowed
