"""Exit codes of all commands of a pipeline are reported, and recording them changes nothing else."""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import pytest

from nacre import Bash, Limits, Request, Session, ToolContext
from nacre.planning.pipestatus import pipeline_commands
from nacre.result import Exited, PipelineStatus, Signalled


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("a | b", ("a", "b")),
        ("x; cd /y && a 1 | b 2 | c", ("a", "b", "c")),
        ("a | b # c | d", ("a", "b")),
        ("$A | { b; } | ( c )", ("…", "…", "…")),
        ("a |& b", ("a", "b")),
        ("! a | b", ()),
        ("x && a | b", ("a", "b")),
        ("x || a | b", ("a", "b")),
        ("x | y || a | b", ()),
        ("x | y && z; a | b", ("a", "b")),
        ("x | y | z && a | b", ("a", "b")),
        ("x | y && z && a | b", ()),
        ("{ x | y; } && a | b", ()),
        ("[[ x ]] && (x | y) && a | b", ("a", "b")),
        ("set -euo pipefail; shopt -s globstar; exec 2>&1; a | b", ("a", "b")),
        ("set -- x -y; . .venv/bin/activate && command -v a && a | b", ("a", "b")),
        ("(trap x EXIT; a) | b", ("…", "b")),
        ("a | b; c", ()),
        ("a || b", ()),
        ("a | b &", ()),
        ("cat <<E | b\nx", ()),
        ("a | b \\", ()),
        ("a | b; if", ()),
        ("trap x DEBUG; a | b", ()),
        ("if x; then \\trap x EXIT; fi; a | b", ()),
        ("f() { 'trap' x EXIT; }; a | b", ()),
        ("command trap x EXIT; a | b", ()),
        ("$X x EXIT; a | b", ()),
        ("eval x; a | b", ()),
        (". ./x; a | b", ()),
        ("set -x; a | b", ()),
        ("set -er; a | b", ()),
        ("set $X; a | b", ()),
        ("shopt -so xtrace; a | b", ()),
        ("shopt -s lastpipe; a | b", ()),
        ("builtin() { :; }; a | b", ()),
        ("exec 10>x; a | b", ()),
        ("exec {x}>x; a | b", ()),
        ("coproc x; a | b", ()),
        ("ls /proc/$$/fd | b", ()),
        ("NACRE_STATUS=1; a | b", ()),
        ("echo '|'", ()),
    ],
)
def test_pipeline_commands_names_the_stages_of_the_last_pipeline(command: str, names: tuple[str, ...]) -> None:
    assert pipeline_commands(command) == names


async def test_failure_before_the_last_pipe_stage_is_reported(bash: Bash) -> None:
    result = await bash.run("(exit 3) | false | cat")
    assert (result.outcome, result.pipestatus) == (
        Exited(0),
        (PipelineStatus("…", 3), PipelineStatus("false", 1), PipelineStatus("cat", 0)),
    )
    assert result.notes == (
        "In the pipeline `…` exited with 3, `false` exited with 1; the exit code is that of `cat`.",
    )


async def test_sigpipe_of_an_earlier_stage_is_not_reported_as_a_failure(bash: Bash) -> None:
    result = await bash.run("yes | head -1")
    assert (result.pipestatus, result.notes) == ((PipelineStatus("yes", 141), PipelineStatus("head", 0)), ())


async def test_failed_stage_before_grep_without_a_match_is_reported(bash: Bash) -> None:
    result = await bash.run("(exit 7) | grep x")
    assert (result.outcome, result.notes) == (
        Exited(1),
        ("In the pipeline `…` exited with 7; the exit code is that of `grep`.",),
    )
    assert (await bash.run("(exit 7) | (exit 1)")).notes == ()


async def test_pipeline_that_did_not_run_is_not_reported(bash: Bash) -> None:
    for command in ("(exit 3) | true || pytest | tail", "(exit 3) | false && pytest | tail", "false && pytest | tail"):
        result = await bash.run(command)
        assert (result.pipestatus, result.notes) == ((), ())


ODD = """
(exit 3) | true || echo x | tail
! false | false
! true | true
true | (exit 5)
false | true; exit 4
set -e; true | false; echo never
set -euo pipefail; (exit 6) | true
set -o pipefail; (exit 6) | true
trap 'echo args=$#:$1' EXIT; true | true
trap 'echo $?' EXIT; true | (exit 7)
trap 'echo err' ERR; true | false
trap 'echo chld' CHLD; true | true
trap 'set | grep ^NACRE_S' EXIT; true | true
trap 'echo debug' DEBUG; true | true
set -- x y; trap 'echo $*' EXIT; echo a | cat
set -x; trap "echo bye" EXIT; true | true
exec 5>trace; BASH_XTRACEFD=5; set -x; true | true
shopt -so xtrace; true | true
set -v; true | true
set -r; echo a | cat
set -n; false | true
set -m; true | true
set -u; true | true
set -k; echo a=b | cat
set -o posix; exit() { :; }; false | true
set() { echo set-called; }; true | false
exit() { echo noexit; }; false | true
printf() { echo pf; }; false | true
builtin() { echo b; }; false | true
enable -n printf; enable -n exit; echo a | cat
shopt -s expand_aliases; alias exit=false builtin=false; echo a | cat
readonly NACRE_STATUS=5; false | true
declare -A NACRE_STATUS; false | true
exec 10>ten; echo hi >&10 | cat
exec {fd}>some; echo $fd | cat
exec 63>last; echo hi >&63 | cat
read -u 10 x; echo "$x" | cat
coproc cat; echo ${COPROC[@]} | cat
ulimit -n 8; echo a | cat
exec >&-; true | (exit 3)
exec 2>&-; true | (exit 3)
shopt -s lastpipe; echo a | { trap 'echo t $#' EXIT; }
IFS=0123; echo a | (exit 123)
unset PIPESTATUS; false | (exit 4)
PIPESTATUS=(7 8); false | (exit 4)
eval 'trap "echo \\$#" EXIT'; true | true
echo 'trap "echo \\$#" EXIT' > s.sh; . ./s.sh; true | true
X=trap; $X 'echo $#' EXIT; true | true
f() { false | true; }; f | cat; declare -F | cat
echo "$BASH_EXECUTION_STRING" | cat
echo <(true) $LINENO | cat
true | true; kill -TERM $$
false | true && true | false
true | exit 7
""".strip().splitlines()


@pytest.mark.parametrize("env", [{}, {"NACRE_STATUS": "7"}], ids=["", "of-that-name"])
@pytest.mark.parametrize("command", [*ODD, "true\necho $LINENO | cat", f"# {'x' * 9000}\necho a | cat"])
async def test_recording_pipestatus_changes_nothing_else(
    bash: Bash, tmp_path: Path, command: str, env: dict[str, str]
) -> None:
    for name in ("bash", "nacre"):
        (tmp_path / name).mkdir()
    plain = await asyncio.create_subprocess_exec(
        "bash", "-c", command, cwd=tmp_path / "bash", env={**os.environ, **env}, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    out, err = await plain.communicate()
    result = await bash.run(Request(command, cwd=str(tmp_path / "nacre"), env=env))
    code = -result.outcome.signal if isinstance(result.outcome, Signalled) else result.exit_code
    assert (code, result.stdout, _strip_trace_levels(result.stderr)) == (plain.returncode, out.decode(), err.decode())
    assert _files(tmp_path / "nacre") == _files(tmp_path / "bash")


def _files(place: Path) -> dict[str, str]:
    return {path.name: _strip_trace_levels(path.read_text()) for path in place.iterdir()}


def _strip_trace_levels(text: str) -> str:
    """Remove a trace level: each script is evaluated, which a trace shows as an additional level."""
    return re.sub(r"(?m)^\+\+ ", "+ ", text)


@pytest.mark.parametrize("case", [{"env": {"SHELLOPTS": "xtrace"}}, {"env": {"BASH_ENV": "rc"}}])
async def test_pipestatus_is_not_recorded_when_the_environment_could_reveal_it(
    bash: Bash, tmp_path: Path, case: dict[str, dict[str, str]]
) -> None:
    (tmp_path / "rc").write_text("trap 'echo $#' EXIT\n")
    result = await bash.run(Request("false | true", cwd=str(tmp_path), **case))  # type: ignore[arg-type]
    assert (result.pipestatus, "STATUS" in result.stderr, result.stdout) == (
        (),
        False,
        "0\n" if "BASH_ENV" in case["env"] else "",
    )


async def test_pipeline_runs_with_few_fds_and_pipestatus_needs_64_of_them(bash: Bash) -> None:
    for count, known in ((10, 0), (63, 0), (64, 2)):
        result = await bash.run("echo a | cat", ToolContext(limits=Limits(open_files=count)))
        assert (result.outcome, result.output, len(result.pipestatus)) == (Exited(0), "a\n", known)


async def test_positional_parameters_are_unchanged_when_leftovers_are_waited_for(bash: Bash) -> None:
    result = await bash.run(Request("trap 'echo $#' EXIT; (exit 3)", leftovers="wait"))
    assert (result.outcome, result.output) == (Exited(3), "0\n")


async def test_session_records_both_pipestatus_and_shell_state(bash: Bash) -> None:
    session = Session(bash)
    result = await session.run("export A=1; cd /; false | true")
    assert (result.pipestatus, session.cwd, session.env_changes["A"]) == (
        (PipelineStatus("false", 1), PipelineStatus("true", 0)),
        "/",
        "1",
    )
    assert "NACRE_STATUS" not in session.env_changes
