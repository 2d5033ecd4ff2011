"""The span of a finding in the checked text."""

from __future__ import annotations

import pytest

from nacre.shell import read
from tests.policy.test_corpus import HOME, PROJECT, verdict

TABLE = [
    ("echo a; [[ -v 'a[$(rm -rf ~)]' ]]", "[[ -v 'a[$(rm -rf ~)]' ]]"),
    ("echo a; test -v 'a[$(rm -rf ~)]'", "test -v 'a[$(rm -rf ~)]'"),
    ("echo a; let 'a[$(rm -rf ~)]=1'", "let 'a[$(rm -rf ~)]=1'"),
    ("echo a; printf -v 'a[$(rm -rf ~)]' x", "printf -v 'a[$(rm -rf ~)]' x"),
    ("echo a; unset 'a[$(rm -rf ~)]'", "unset 'a[$(rm -rf ~)]'"),
    ("echo a; compgen -W '$(rm -rf ~)'", "compgen -W '$(rm -rf ~)'"),
    ("echo a; wait -n -p 'a[$(rm -rf ~)]'", "wait -n -p 'a[$(rm -rf ~)]'"),
    ("echo a; wait -p'a[$(rm -rf ~)]'", "wait -p'a[$(rm -rf ~)]'"),
    ("echo a; x='a[$(rm -rf ~)]'; ((x))", "((x))"),
    ("echo a; (( a[$(rm -rf ~)] ))", "rm -rf ~"),
    ("ls; echo `echo \\`rm -rf ~\\``", "echo `echo \\`rm -rf ~\\``"),
    ("ls; cat <<-E\n\thi\n\t$(rm -rf ~)\n\tE\n", "cat <<-E"),
    ("ls; cat <<E\nhi\n$(rm -rf ~)\nE\n", "rm -rf ~"),
    ('eval "GIT_PAGER=cat git log; ${y}rm -rf ~"; ls', 'eval "GIT_PAGER=cat git log; ${y}rm -rf ~"'),
    ("x='$(ls)'; echo ${x@P}; rm -rf ~", "rm -rf ~"),
    ("echo $(echo $(ls)) $(rm -rf ~)", "rm -rf ~"),
]


@pytest.mark.parametrize(("command", "want"), TABLE)
def test_span_of_a_finding_covers_the_command(command: str, want: str) -> None:
    found = verdict(command).findings[0]
    assert (found.rule, command[found.start : found.end]) == ("rm-root-or-home", want)


@pytest.mark.parametrize(
    ("command", "want"),
    [
        ("echo (", True),
        ("eval 'echo ('", True),
        ("bash -c 'if true'", True),
        ('eval "$x\'"', False),
        ("sed 's/a/(/e' f", False),
        ("psql -c '\\! ('", False),
        ("ls", False),
    ],
)
def test_only_text_that_bash_surely_parses_is_a_syntax_error(command: str, want: bool) -> None:
    assert read(command, cwd=PROJECT, home=HOME).syntax_error is want


def test_span_of_a_finding_ends_within_the_text() -> None:
    command = "rm -rf ~ x\\"
    found = verdict(command).findings[0]
    assert (found.start, found.end) == (0, len(command))
