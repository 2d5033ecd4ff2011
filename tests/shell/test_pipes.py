"""Pipes: which command reads the output of which, by the pipe numbers of each command."""

from __future__ import annotations

from itertools import product

import pytest

from nacre.shell import read


def pipe_pairs(text: str) -> set[str]:
    """Return `a>b` for each pipe from `a` to `b`."""
    commands = [each for each in read(text, cwd="/home/dev/project", home="/home/dev").commands if each.argv]
    return {
        f"{left.name}>{right.name}"
        for left, right in product(commands, commands)
        if left.pipe_out and left.pipe_out == right.pipe_in
    }


@pytest.mark.parametrize(
    ("text", "pairs"),
    {
        "a | b": {"a>b"},
        "a |& b": {"a>b"},
        "a | b | c": {"a>b", "b>c"},
        "a; b": set(),
        "a | b; c | d": {"a>b", "c>d"},
        "a || b": set(),
        "{ a; b; } | c": {"a>c", "b>c"},
        "a | { b; c; }": {"a>b", "a>c"},
        "( a | b ) | c": {"a>b", "b>c"},
        "if a; then b; fi | c": {"a>c", "b>c"},
        "while a; do b; done | c": {"a>c", "b>c"},
        "a | while read -r x; do b; done": {"a>read", "a>b"},
        "f() { a | b; }; f": {"a>b"},
        "f() { a; }; f; f | b": {"f>b", "a>b"},
        "f() { b; }; a | f": {"a>f", "a>b"},
        "f() { a; }; f | b; f | c": {"f>b", "a>b", "f>c", "a>c"},
        "sudo a | env b": {"sudo>env", "sudo>b", "a>env", "a>b"},
        "x=$(a) b | c": {"b>c"},
        "b $(a) | c": {"b>c"},
        "a < <(b)": {"b>a"},
        "a > >(b)": {"a>b"},
        "a 2> >(b) | c": {"a>b", "b>c"},
        "{ a; } > >(b | c)": {"a>b", "b>c"},
        "a < <(b < <(c))": {"b>a", "c>b"},
        "coproc a; b <&${COPROC[0]}": {"a>b"},
        "coproc P { a; }; b >&${P[1]}": {"b>a"},
    }.items(),
)
def test_pipe_numbers_connect_writers_and_readers(text: str, pairs: set[str]) -> None:
    assert pipe_pairs(text) == pairs


@pytest.mark.parametrize(
    ("text", "pairs"),
    {
        'eval "a | b"': {"a>b"},
        'eval "a | b" | c': {"eval>c", "a>b", "b>c"},
        "a | eval 'b | c'": {"a>eval", "a>b", "b>c"},
        "x='a | b'; eval \"$x\"": {"a>b"},
        "eval 'a | b'; eval 'c | d'": {"a>b", "c>d"},
        "eval 'a | b'; eval 'a | b'": {"a>b"},
        "eval a; eval b": set(),
        "bash -c 'a | b'": {"a>b"},
        "bash <<< 'a | b'": {"a>b"},
        "echo 'a | b' | bash": {"echo>bash", "echo>a", "a>b"},
        "bash << E\na | b\nE": {"a>b"},
        "printf '%s\\n' 'a | b' > z.sh; bash z.sh | c": {"bash>c", "a>b", "b>c"},
        "find . -exec bash -c 'a | b' \\;": {"a>b"},
        "echo k | xargs -I{} bash -c 'a | b'": {"echo>xargs", "echo>bash", "echo>a", "a>b"},
        "trap 'a | b' EXIT": {"a>b"},
        "shopt -s expand_aliases\nalias x='a | b'\nx": {"a>b"},
        "git -c alias.x='!a | b' x": {"a>b"},
        "python3 -c 'import os; os.system(\"a | b\")'": {"a>b"},
    }.items(),
)
def test_pipe_in_text_that_is_run_connects_its_commands(text: str, pairs: set[str]) -> None:
    assert pipe_pairs(text) == pairs


def test_repeated_command_is_listed_once_per_pipe() -> None:
    """A loop's body is interpreted twice, a trap's command when it is set and when it runs: that makes no new pipes."""
    for text in ("for i in 1 2; do x=$i; a | b; done", "trap 'a | b' EXIT", "f() { eval 'a | b'; }; f; f"):
        commands = read(text, cwd="/", home="/home/dev").commands
        assert [each.name for each in commands if each.name in ("a", "b")] == ["a", "b"], text
