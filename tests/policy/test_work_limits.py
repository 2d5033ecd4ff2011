"""A destructive command is found behind any number of harmless ones, or the text is refused as too large.

Each case places its payload just beyond a limit of the checker. A long list of harmless commands alone is allowed.
"""

from __future__ import annotations

import pytest

from nacre import Decision
from nacre.shell import symbolic as symbolic_text
from nacre.shell.interpreter import budget, functions, scripts
from nacre.shell.syntax import braces
from nacre.shell.values import values
from tests.policy.test_corpus import verdict

COUNTS = (1, values.MAX_FOLLOWED_ALWAYS, values.MAX_VALUES, values.MAX_LOOP_VALUES, budget.FOLLOW_ALL_BELOW)


def distinct_names(count: int, between: str = " ") -> str:
    """Return distinct names that differ in more than their numbers."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return between.join(f"n{letters[i % 26]}{letters[i // 26 % 26]}{i // 676}" for i in range(count))


def repeat_form(form: str, count: int) -> str:
    return "; ".join(form.format(name) for name in distinct_names(count).split())


def many_ifs(count: int) -> str:
    return " ".join(f"if b; then x={name}; fi;" for name in distinct_names(count).split())


BEHIND = {
    "a loop's words": lambda n: f"for d in {distinct_names(n)} /; do rm -rf $d; done",
    "a loop's words, and a long body": lambda n: f"for d in {distinct_names(n)} /; do {'ls $d;' * 9} rm -rf $d; done",
    "a loop's commands": lambda n: f"for c in {distinct_names(n)} rm; do $c -rf /; done",
    "a loop's variable, copied": lambda n: f'for d in {distinct_names(n)} / z; do x=$d; rm -rf "$x"; done',
    "braces": lambda n: f"rm -rf {{{distinct_names(n, ',')},/}}",
    "braces after a range": lambda n: f"rm -rf {{{{1..{n}}},/}}",
    "braces of a long word": lambda n: f"rm -rf {{{'a' * n * 20},/}}",
    "an array": lambda n: f'a=({distinct_names(n)} /); rm -rf "${{a[@]}}"',
    "arguments": lambda n: f'set -- {distinct_names(n)} /; rm -rf "$@"',
    "lines for xargs": lambda n: f"printf '%s\\n' {distinct_names(n)} / | xargs rm -rf",
    "lines for xargs -I": lambda n: f"printf '%s\\n' {distinct_names(n)} / | xargs -I{{}} rm -rf {{}}",
    "a long line for xargs -I": lambda n: f"echo '{'a' * n * 20}; rm -rf /' | xargs -I{{}} sh -c {{}}",
    "words of xargs -I": lambda n: f"echo / | xargs -I{{}} rm -rf {distinct_names(n)} {{}}",
    "parallel": lambda n: f"parallel rm -rf ::: {distinct_names(n)} /",
    "calls of a function": lambda n: f'f() {{ rm -rf "$1"; }}; {repeat_form("f {}", n)}; f /',
    "commands through a function": lambda n: f'run() {{ "$@"; }}; {repeat_form("run echo {}", n)}; run rm -rf /',
    "words of printf": lambda n: f"printf '%s\\n' {distinct_names(n)} 'rm -rf /' | sh",
    "lines for read": lambda n: f"while read -r d; do rm -rf $d; done <<< '{distinct_names(n, chr(10))}\n/'",
    "lines of an array": lambda n: f"mapfile -t a <<< '{distinct_names(n, chr(10))}\n/'; rm -rf ${{a[@]}}",
    "ways to a value": lambda n: f"if a; then x=/; fi; {many_ifs(n)} rm -rf $x",
    "branches of a case": lambda n: f"case $1 in a) x=/;; {repeat_form('{}) x=y;', n)}; esac; rm -rf $x",
    "no-ops": lambda n: ":;" * n + "rm -rf /",
    "directories of find": lambda n: f"find {distinct_names(n)} / -exec rm -rf {{}} +",
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("text", BEHIND.values(), ids=BEHIND.keys())
def test_destructive_command_is_found_behind_any_number_of_harmless_ones(text: object, count: int) -> None:
    assert callable(text)
    found = verdict(text(count))
    assert found.decision is Decision.REFUSE
    assert found.rule in ("rm-root-or-home", "find-delete-root", "too-complex")


TOO_MUCH = {
    "wrappers": "sudo " * (scripts.MAX_NESTING + 1) + "rm -rf /",
    "functions in functions": "".join(f'f{i}() {{ f{i + 1} "$1"; }}; ' for i in range(functions.MAX_CALL_DEPTH + 1))
    + f'f{functions.MAX_CALL_DEPTH + 1}() {{ rm -rf "$1"; }}; f0 /',
    "commands": ":;" * (budget.MAX_COMMANDS + 1) + "rm -rf /",
    "products of braces": "rm -rf " + "{a,b}" * braces.MAX_WORDS.bit_length() + "{,/}",
    "a file": f"printf '{'#' * 999}\\n%.0s' {{1..{symbolic_text.MAX_CHARS // 999}}} > f; echo 'rm -rf /' >> f; sh f",
    "an input": f"{{ echo 'rm -rf /'; x={'#' * 1999}; {'echo $x; ' * (symbolic_text.MAX_CHARS // 1999 + 1)} }} | sh",
    "a variable": f"x='rm -rf /;'; y={'#' * 1999}; {'x+=$y; ' * (symbolic_text.MAX_CHARS // 1999 + 1)} eval \"$x\"",
}


@pytest.mark.parametrize("text", TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_text_beyond_the_limits_of_the_checker_is_refused(text: str) -> None:
    found = verdict(text)
    assert found.decision is Decision.REFUSE
    assert found.rule in ("rm-root-or-home", "too-complex")


HARMLESS = {
    "a loop": f'for f in {distinct_names(100)}; do rm -rf "$f"; done',
    "a long loop": f'for f in {distinct_names(3000)}; do rm -rf "$f"; echo "$f"; cp "$f" "old/$f"; done',
    "a loop over numbers": 'for i in {1..100000}; do rm -rf "run-$i"; mkdir "run-$i"; done',
    "a loop over seq": 'for i in $(seq 1 100000); do rm -rf "run-$i"; done',
    "braces": "rm -rf {a..z}{1..9}",
    "names": f"rm -rf {distinct_names(3000)}",
    "xargs": f"printf '%s\\n' {distinct_names(100)} | xargs rm -rf",
    "xargs -I": f"printf '%s\\n' {distinct_names(100)} | xargs -I% rm -rf %",
    "a variable that changes": "x=a; for i in 1 2 3; do rm -rf $x; x=b; done",
    "messages": 'log() { echo "$(date) $*"; }; ' + repeat_form('log "Step {} is done."', 3000),
    "an array": f'a=({distinct_names(3000)}); for f in "${{a[@]}}"; do rm -rf "$f"; done',
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS.keys())
def test_long_list_of_harmless_commands_is_allowed(text: str) -> None:
    assert verdict(text).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "x=a; for i in 1 2; do rm -rf $x; x=/; done",
        "x=a; while read -r y; do rm -rf $x; x=~; done",
        "for i in 1 2; do rm -rf *; cd /; done",
        "for d in *; do for i in 1 2; do ls; done; rm -rf $d; done",
        "for i in 1 2; do for j in 1 2; do rm -rf $x; done; x=/; done",
        'f() { [ -n "$2" ] && f "$2"; rm -rf "$1"; }; f a /',
        'f() { rm -rf "$1"; }; [ -n "$1" ] && f /',
        'f() { if [ -n "$2" ]; then g "$2"; fi; }; g() { rm -rf "$1"; }; f a /',
        'set -- a; [ -n "$1" ] && set -- / && rm -rf "$1"',
    ],
)
def test_loop_and_call_carry_values_to_later_iterations(command: str) -> None:
    assert verdict(command).decision is Decision.REFUSE
