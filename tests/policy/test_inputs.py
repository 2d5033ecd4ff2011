"""Standard input: a substitution inherits that of its command; `exec <` changes it for all that follows."""

from __future__ import annotations

import pytest

from nacre import Decision, check
from tests.policy.test_corpus import PROJECT, verdict

TABLE = [
    ("echo 'rm -rf /' | bash -c \"$(cat)\"", Decision.REFUSE),
    ("echo 'rm -rf /' | { eval \"$(cat)\"; }", Decision.REFUSE),
    ("{ eval \"$(cat)\"; } <<< 'rm -rf /'", Decision.REFUSE),
    ("f() { bash -c \"$(cat)\"; }; echo 'rm -rf /' | f", Decision.REFUSE),
    ("echo 'rm -rf /' | while true; do eval \"$(cat)\"; done", Decision.REFUSE),
    ("echo 'rm -rf /' | x=$(bash)", Decision.REFUSE),
    ("echo 'rm -rf /' | case $(bash) in a) ;; esac", Decision.REFUSE),
    ("echo 'rm -rf /' | sudo sh -c 'eval \"$(cat)\"'", Decision.REFUSE),
    ("exec <<< 'rm -rf /'; bash", Decision.REFUSE),
    ("{ exec <<< 'rm -rf /'; }; bash", Decision.REFUSE),
    ("if true; then exec <<< 'rm -rf /'; fi; bash", Decision.REFUSE),
    ("exec < <(echo rm -rf /); sh", Decision.REFUSE),
    ("exec <<< 'rm -rf /'; cat", Decision.ALLOW),
    ("exec <<< 'rm -rf /'; echo ls | bash", Decision.ALLOW),
    ("(exec <<< 'rm -rf /'); bash", Decision.ALLOW),
    ("exec <<< 'rm -rf /'; bash -c 'cat | grep x' <<< b", Decision.ALLOW),
    ("echo 'rm -rf /' | x=$(cat)", Decision.ALLOW),
    ("echo 'rm -rf /' | { read -r x; bash -c \"$(cat script.sh)\"; }", Decision.ALLOW),
]


@pytest.mark.parametrize(("command", "want"), TABLE)
def test_command_substitution_reads_stdin_of_its_command(command: str, want: Decision) -> None:
    assert verdict(command).decision is want


@pytest.mark.parametrize("command", ["x=$(bash)", "cat <(bash)", "echo `sh`", 'eval "$(cat)"', "bash"])
def test_given_stdin_is_a_script_wherever_a_shell_reads_it(command: str) -> None:
    assert check(command, cwd=PROJECT, stdin="rm -rf /").decision is Decision.REFUSE
    assert check(command, cwd=PROJECT, stdin="ls").decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command", ['d=$1; rm -rf "$d"/*', '[ -n "$1" ] && ls; rm -rf "$1"/*', 'main() { rm -rf "$1"/; }; main "$@"']
)
def test_positional_parameters_of_a_script_are_unknown(command: str) -> None:
    found = verdict(command)
    assert found.rule == "rm-precious"
    assert "rm-root-or-home" not in [each.rule for each in found.findings]
