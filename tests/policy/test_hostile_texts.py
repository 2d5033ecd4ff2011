"""Scripts made to take long, to nest without end or to grow: each gets a verdict quickly.

A test that hangs fails by its timeout; performance figures belong in the benchmark.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre import Decision, Policy, check
from nacre.policy.policy import EVERYTHING, Exemption
from tests.policy.test_corpus import COMMANDS, verdict

SIZE = 30_000


def repeat_to_size(text: str) -> str:
    return text * (SIZE // len(text))


TEXTS = {
    "parentheses": repeat_to_size("("),
    "substitutions": repeat_to_size("$("),
    "quotes": repeat_to_size('"'),
    "backquotes": repeat_to_size("`"),
    "open braces": repeat_to_size("{a,"),
    "many braces": "echo " + repeat_to_size("{a,b}"),
    "nested braces": "echo " + "{" * 5000 + "a,b" + "}" * 5000,
    "stars": "rm -rf " + repeat_to_size("*"),
    "operands": "rm -rf " + repeat_to_size("a "),
    "parents": "rm -rf " + repeat_to_size("../"),
    "doubling": "x=a;" + repeat_to_size("x=$x$x;") + 'eval "$x"',
    "doubling by function": 'f() { x=$x$x; f "$x"; };' + repeat_to_size("f $x;"),
    "appending": repeat_to_size("x+=a;"),
    "sed groups": "sed 's/" + repeat_to_size("\\(") + "/x/e'",
    "sed commands": "sed '" + repeat_to_size("e ") + "'",
    "awk calls": "awk '" + repeat_to_size('system("') + "'",
    "python calls": "python3 -c '" + repeat_to_size('os.system("') + "'",
    "python lists": "python3 -c '" + repeat_to_size("run([") + "'",
    "python blanks": "python3 -c 'rmtree" + repeat_to_size(" ") + "'",
    "pipes": repeat_to_size("a|"),
    "lists": repeat_to_size("a&&"),
    "here-documents": repeat_to_size("<<E "),
    "cases": repeat_to_size("case x in a) "),
    "functions that call each other": "".join(f"f{i}() {{ f{i + 1} a{i}; f{i + 1} b{i}; }};" for i in range(900))
    + "f0",
    "loops in loops": "".join(f"for v{i} in 1 2 3 4 5 6 7 8 9; do " for i in range(30)) + "echo $v1$v2" + "; done" * 30,
    "wrappers": "sudo " * 5000 + "ls",
    "assignments": "env " + repeat_to_size("A=1 ") + "ls",
    "lines for xargs": "echo " + repeat_to_size("a ") + "| xargs rm -rf",
    "slow pattern": "x=" + "a" * 20_000 + "; echo ${x//*a*a*a*b/}",
    "slow end": "x=" + "a" * 3000 + "; echo ${x%%*a*a*a*b}",
    "slow regex": f"[[ {'a' * 50} =~ ^(a+)+b$ ]]",
    "slow glob": "/bin/" + repeat_to_size("[a-z]*") + " x",
    "aliases": "shopt -s expand_aliases\n" + "".join(f"alias a{i}=a{i + 1}\n" for i in range(1500)) + "a0",
    "a file that grows": "echo a > f;" + repeat_to_size("cat f f >> f;"),
    "keywords": repeat_to_size("time "),
    "continuations": repeat_to_size("\\\n") + "ls",
    "deep": 'echo "$(echo "' * 200 + "x" + '")"' * 200,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_hostile_text_gets_a_verdict(text: str) -> None:
    assert verdict(text).decision in Decision


@pytest.mark.parametrize(
    "text",
    [
        "sudo " * 9 + "ls",
        "bash -c '" + "eval " * 9 + "ls'",
        "( " * 200 + "ls" + " )" * 200,
        "$(" * 200 + "ls" + ")" * 200,
        f"x={'a' * 100_000}; {'echo $x;' * 300}",
    ],
)
def test_text_too_deep_or_too_wide_is_refused(text: str) -> None:
    assert verdict(text).rule == "too-complex"


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(COMMANDS), st.sampled_from(COMMANDS), st.data())
def test_malformed_text_gets_a_verdict_without_an_error(
    one: dict[str, str], other: dict[str, str], data: st.DataObject
) -> None:
    first, second = one["command"], other["command"]
    cut = data.draw(st.integers(0, len(first)))
    text = first[:cut] + data.draw(st.text(alphabet="'\"`$(){}[]<>|&;\\\n #!~*?=\0\ud800é", max_size=6)) + second
    assert verdict(text).decision in Decision


@pytest.mark.parametrize(
    "text",
    [
        "sudo " * 9 + "rm -rf /",
        ":;" * 25_000 + "rm -rf /",
        "$(" * 200 + "rm -rf /" + ")" * 200,
    ],
)
@pytest.mark.parametrize(
    "policy",
    [EVERYTHING, Policy(exemptions=(Exemption("too-complex", "**"),)), Policy(decisions={"too-complex": Decision.ASK})],
)
def test_policy_cannot_allow_a_text_that_could_not_be_read(text: str, policy: Policy) -> None:
    """Otherwise the floor would not hold: the script could hide a command that deletes the root."""
    assert verdict(text, policy=policy).decision is Decision.REFUSE


@pytest.mark.parametrize(
    "command",
    [
        'rm() { command rm "$@"; }; rm -rf /',
        "rm() { :; }; sudo rm -rf /",
        "rm() { :; }; env rm -rf /",
        "rm() { :; }; echo / | xargs rm -rf",
        'rm() { :; }; "$SUDO" rm -rf /',
        "rm() { :; }; unset -f rm; rm -rf /",
        "false && rm() { :; }; rm -rf /",
        "true || rm() { :; }; rm -rf /",
        "if false; then rm() { :; }; fi; rm -rf /",
    ],
)
def test_shell_function_does_not_hide_the_program_behind_it(command: str) -> None:
    assert check(command).rule == "rm-root-or-home"
    assert check("rm() { echo no; }; rm -rf /").allowed
    assert check("false && rm() { :; }; rm() { echo no; }; rm -rf /").allowed
