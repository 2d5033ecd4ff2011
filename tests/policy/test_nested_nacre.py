"""`nacre run` in a command does not bypass the rules: the checker reads the inner command."""

from __future__ import annotations

import pytest

from nacre import Decision, check


@pytest.mark.parametrize(
    "command",
    [
        "nacre run --yes 'git reset --hard'",
        "nacre run 'git reset --hard'",
        "nacre run --timeout 5 --cwd /tmp 'git reset --hard'",
        "python3 -m nacre run --yes 'git reset --hard'",
        "python -m nacre run 'git reset --hard'",
        "echo 'git reset --hard' | nacre run --yes -",
        "nacre run --env X='git reset --hard' 'eval \"$X\"'",
        "nacre run --stdin 'git reset --hard' bash",
        "echo 'git reset --hard' | nacre run --stdin - bash",
        "sudo nacre run --yes 'sudo git reset --hard'",
        "nacre run \"nacre run --yes 'git reset --hard'\"",
    ],
)
def test_command_inside_nacre_run_is_found(command: str) -> None:
    verdict = check(command, cwd="/home/dev/project")
    assert (verdict.decision, verdict.rule) == (Decision.ASK, "git-reset-hard")


@pytest.mark.parametrize(
    "command", ["nacre run 'git status'", "nacre tasks", "nacre check 'git reset --hard'", "nacre"]
)
def test_harmless_nacre_command_is_allowed(command: str) -> None:
    assert check(command, cwd="/home/dev/project").allowed
