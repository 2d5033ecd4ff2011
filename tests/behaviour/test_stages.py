"""Pipelines: how each of their commands ended is told, and nothing else is changed by asking."""

from __future__ import annotations

import pytest

from nacre import Bash, Session
from nacre.result import Exited, Stage
from nacre.stages import stages


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("a | b", ("a", "b")),
        ("x; cd /y && a 1 | b 2 | c", ("a", "b", "c")),
        ("a | b # c | d", ("a", "b")),
        ("$A | { b; } | ( c )", ("…", "…", "…")),
        ("a |& b", ("a", "b")),
        ("! a | b", ("a", "b")),
        ("a | b; c", ()),
        ("a || b", ()),
        ("a | b &", ()),
        ("cat <<E | b\nx", ()),
        ("a | b \\", ()),
        ("a | b; if", ()),
        ("trap x DEBUG; a | b", ()),
        ("echo '|'", ()),
    ],
)
def test_the_commands_of_the_last_pipeline(command: str, names: tuple[str, ...]) -> None:
    assert stages(command) == names


async def test_a_failure_behind_a_pipe_is_told(bash: Bash) -> None:
    result = await bash.run("(exit 3) | false | cat")
    assert (result.outcome, result.stages) == (Exited(0), (Stage("…", 3), Stage("false", 1), Stage("cat", 0)))
    assert result.remarks == (
        "In the pipeline `…` exited with 3, `false` exited with 1; the exit code is that of `cat`.",
    )


async def test_being_cut_short_by_the_next_is_no_failure(bash: Bash) -> None:
    result = await bash.run("yes | head -1")
    assert (result.stages, result.remarks) == ((Stage("yes", 141), Stage("head", 0)), ())


UNCHANGED = {
    "exit code": ("true | (exit 5)", "", 5),
    "exit": ("false | true; exit 4", "", 4),
    "errexit": ("set -e; true | false; echo never", "", 1),
    "pipefail": ("set -o pipefail; (exit 6) | true", "", 6),
    "negated": ("! true | true", "", 1),
    "xtrace": ("set -x; true | true", None, 0),
    "nounset": ("set -u; true | true", "", 0),
    "err trap": ("trap 'echo err' ERR; true | false", "err\n", 1),
    "exit trap": ("trap 'echo $?' EXIT; true | (exit 7)", "7\n", 7),
    "function": ("f() { false | true; }; f | cat; declare -F | cat", "declare -f f\n", 0),
    "verbose": ("set -v; true | true", "", 0),
    "line": ("true\necho $LINENO | cat", "2\n", 0),
    "long": (f"# {'x' * 9000}\necho a | cat", "a\n", 0),
    "heredoc without an end": ("cat <<E | cat\nx", None, 0),
}


@pytest.mark.parametrize("case", UNCHANGED)
async def test_asking_changes_nothing(bash: Bash, case: str) -> None:
    command, said, code = UNCHANGED[case]
    result = await bash.run(command)
    assert (result.outcome, "NACRE" in result.output) == (Exited(code), False)
    assert result.output == said or said is None


async def test_a_session_learns_of_both(bash: Bash) -> None:
    session = Session(bash)
    result = await session.run("export A=1; cd /; false | true")
    assert (result.stages, session.cwd, session.changes["A"]) == ((Stage("false", 1), Stage("true", 0)), "/", "1")
    assert "NACRE_STATUS" not in session.changes
