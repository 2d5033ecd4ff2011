"""Scripts that would multiply in size, or make a pattern backtrack: the checker's work on them is bounded.

The work is counted in executed lines of the checker, not in seconds; a pattern that takes forever exceeds the test's
timeout.
"""

from __future__ import annotations

import sys
import tracemalloc
from types import FrameType

import pytest

from nacre import Decision
from nacre.policy.permissions.compounds import compounds
from tests.policy.test_corpus import verdict

pytestmark = pytest.mark.slow

SIZE = 50_000
LINES = 12_000_000
MEGABYTES = 150


def numbered_text(form: str, count: int) -> str:
    return "".join(form.format(i, i + 1) for i in range(count))


GROWS = {
    "sed replaces": "echo a | sed" + " -e s/a/aaaaaaaaaa/g" * 10,
    "tr's ranges": "echo a | tr '" + "a-\U0010ffff" * 200 + "' b",
    "parallel": "parallel echo " + "{}" * 20_000 + " ::: " + "b" * 40_000,
    "find -exec": "find " + "b" * 40_000 + " -exec echo " + "{}" * 20_000 + " \\;",
    "xargs -I": "echo " + "b" * 4000 + " | xargs -I a echo " + "a" * SIZE,
    "cat": "cat > f <<'E'\n" + "a" * 60_000 + "\nE\ncat " + "f " * 15_000 + "> g",
    "printf": "printf '" + "a" * SIZE + "%s' " + "b " * 20_000,
    "braces": "echo " + "{1..60} " * 12_000,
    "products of braces": "echo " + "{a,b}" * 700,
    "choices": "for i in {1..250}; do " + "echo $i;" * 8000 + " done",
    "loops in loops": numbered_text("for v{0} in a b; do x=$v{0}; ", 30) + "ls; " + "done; " * 30,
    "a body of many calls": "f() { " + "((1));" * 5000 + " }; " + numbered_text("f {0};", 2000),
    "long words of many calls": f"f() {{ rm {'a' * 9000} $1; }}; " + numbered_text("f {0};", 5000),
    "many words of many calls": f"f() {{ rm {'a ' * 5000} $1; }}; " + numbered_text("f {0};", 5000),
    "a text of many calls": f"f() {{ bash -c '{':;' * 4000} $1'; }}; " + numbered_text("f {0};", 2000),
    "directories and actions": "find " + "a " * 9000 + "-exec ls {} ; " * 3000,
    "stages": "cat > f <<'E'\n" + "a" * 60_000 + "\nE\ncat f" + " | tr a b" * 3000,
    "ways": numbered_text("if a; then x=/p{0}; fi;", 3000) + "echo $x;" * 500,
    "loops and conditions": numbered_text("for v{0} in *; do if a; then b; fi; done;", 2500),
}
ARRAY = f"a=({' '.join(f'v{i}' for i in range(8000))});"
VALUES = numbered_text("b&&x=/v{0};", 100)
MEETS = {
    "arms that fall": "case $x in " + numbered_text("a)v{0}=1;&", 8000) + "esac",
    "arms that fall on": "case $x in " + numbered_text("a)v{0}=1;;&", 8000) + "esac",
    "arms": "case $1 in " + numbered_text("a)v{0}=1;;", 8000) + "esac",
    "arms that write": "case $1 in " + numbered_text("a)b>f{0};;", 7000) + "esac",
    "arms that define": "case $1 in " + numbered_text("a)f{0}()(:);&", 6000) + "esac",
    "arms with aliases": "case $1 in " + numbered_text("a)alias a{0}=b;;", 5000) + "esac",
    "arms with other names": "case $1 in " + numbered_text("a)declare -n a{0}=b;;", 4000) + "esac",
    "a longer array, perhaps": ARRAY + "b&&a+=(x);" * 3700,
    "a shorter array": ARRAY + "unset 'a[1]';" * 3000,
    "a shorter array, in one command": ARRAY + "unset " + "'a[1]' " * 5000,
    "a longer array, in one command": ARRAY + "a+=(x) " * 5000,
    "elements, perhaps": f"a=({'x ' * 90});" + numbered_text("b&&a[{0}]=1;", 6000),
    "one element": ARRAY + "b ${a[1]};" * 4000,
    "changed elements": f"{ARRAY}b {'${a[@]/x/y}' * 4000}",
    "an array, and calls": ARRAY + "b&&a+=(/x);" * 60 + "f() { :; };" + "f;" * 15_000,
    "names, and calls": numbered_text("v{0}=1;", 3000) + "f() { :; };" + "f;" * 15_000,
    "names, and what was found": "find . | while read f; do "
    + numbered_text("v{0}=1;", 3000)
    + "a&&b;" * 10_000
    + "done",
    "functions, perhaps": numbered_text("b&&f{0}() {{ :; }};", 5000),
    "functions that go": numbered_text("f{0}()(:);", 4000) + numbered_text("unset f{0};", 4000),
    "functions that go at once": numbered_text("f{0}()(:);", 4000) + "unset " + numbered_text("f{0} ", 4000),
    "aliases, perhaps": numbered_text("b&&alias a{0}=b;", 5000),
    "aliases that go": "alias " + numbered_text("a{0}=b ", 5000) + ";unalias " + numbered_text("a{0} ", 5000),
    "other names, perhaps": numbered_text("b&&declare -n v{0}=w{0};", 3500),
    "values of a variable": VALUES + "if a; then if b; then x=1; fi; fi;" * 2500,
    "arguments that go, perhaps": f"set -- {'/a ' * 8000}" + ";b&&shift" * 8000,
    "arguments, perhaps": numbered_text("b&&set -- /a{0};", 5000) + 'b "$@";' * 1000,
}
"""Scripts whose control-flow paths join, each path with its own names and values."""
TAKES_TRIES = {
    "sed: newlines": "sed '" + "\n" * SIZE + "' f",
    "sed: blanks": "sed '0" + " " * SIZE + "' f",
    "sed: marks": "sed '" + "".join("s" + chr(0x4E00 + i) for i in range(20_000)) + "' f",
    "psql: newlines": "psql -c '" + "\n" * SIZE + "'",
    "a name over many lines": "l" + "\\\n" * 4 * SIZE + "s",
    "bars": "echo @(" + "|" * SIZE + "(x)",
    "=~": "x=" + "a" * SIZE + "; [[ $x =~ (.*)z ]]",
    "trimmed": "x=" + "a" * 900 + ";" + "echo ${x%%*b}${x##*b*};" * 3000,
    "globs": "\n".join(f"*?*?*?*?*?*?*?*x{i}" for i in range(200)),
    "declare -n": "declare -n " + numbered_text("a{0}=b ", 12_000),
    "declare -A": "declare -A " + numbered_text("a{0} ", 15_000),
    "declare -A, often": numbered_text("declare -A a{0};", 5000),
    "declare -A, with values": "declare -A " + numbered_text("a{0}=() ", 10_000),
    "functions": numbered_text("f{0}() {{ :; }};", 7000),
    "aliases": numbered_text("alias a{0}=b;", 7000),
    "a chain of functions": numbered_text("f{0}() {{ f{1} & }};", 5000),
    "files and git": numbered_text("echo > f{0}; git x;", 5000),
    "elements": numbered_text("a[{0}]=x;", 8000),
    "names in arithmetic": "for a in {1..200}; do ((" + "a+" * 20_000 + "1)); done",
    "awk's variables": "awk 'BEGIN {" + numbered_text('a{0}="x";', 8000) + "}'",
    "git's settings": "git " + "-c alias.a=!b config " * 4000,
}


def lines_run(text: str) -> int:
    """Return how many lines of the checker are executed for a text."""
    count = 0

    def each(frame: FrameType, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return each

    before = sys.gettrace()
    sys.settrace(each)  # type: ignore[arg-type]
    try:
        verdict(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "text", [*GROWS.values(), *MEETS.values(), *TAKES_TRIES.values()], ids=[*GROWS, *MEETS, *TAKES_TRIES]
)
def test_checker_work_is_bounded_for_any_text(text: str) -> None:
    assert lines_run(text) < LINES


@pytest.mark.parametrize("text", GROWS.values(), ids=GROWS.keys())
def test_checker_memory_is_bounded_for_any_text(text: str) -> None:
    tracemalloc.start()
    try:
        verdict(text)
        assert tracemalloc.get_traced_memory()[1] < MEGABYTES * 1_000_000
    finally:
        tracemalloc.stop()


def test_pipeline_text_is_extracted_past_many_closing_braces() -> None:
    closed = "}" * 8 * SIZE
    assert list(compounds(f"a | {closed} | b", 1)) == [f"a | {closed} | b"] * 2


@pytest.mark.parametrize(
    "command",
    [
        "shift " + "9" * 5000,
        "shift ²",
        "echo ${" + "9" * 5000 + "}",
        "x=abc; echo ${x:" + "9" * 5000 + "}",
        "a=(1 2); echo ${a[" + "9" * 5000 + "]}",
        "echo {1.." + "9" * 5000 + "}",
        "echo {1..999999999999999999}",
    ],
)
def test_number_of_any_length_is_accepted(command: str) -> None:
    assert verdict(command).decision is Decision.ALLOW
