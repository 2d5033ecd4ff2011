"""Deny rules: no command bypasses them."""

from __future__ import annotations

import pytest

from tests.policy.permission_decisions import is_denied


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
