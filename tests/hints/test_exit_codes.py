"""The meaning of exit codes: for which command it is known, and for which it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import Bash, Request
from nacre.hints.exit_codes import Meaning, explain
from nacre.views.model.text import model_text

SAID: list[tuple[str, int, str]] = [
    ("grep x y", 1, "grep found no match"),
    ("grep -v x y", 1, "grep -v left no line"),
    ("rg x", 1, "rg found no match"),
    ("cd d && grep x y", 1, "grep found no match"),
    ("echo hi; grep x y", 1, "grep found no match"),
    ("cat f | sort | grep x", 1, "grep found no match"),
    ("sudo -u me grep x y", 1, "grep found no match"),
    ("timeout 5 env A=1 nice grep x y", 1, "grep found no match"),
    ("timeout 5 grep x y", 124, "timeout killed it at its time limit"),
    ("bash -c 'cd a; grep x y'", 1, "grep found no match"),
    ("(cd d && grep x y)", 1, "grep found no match"),
    ("false || grep x y", 1, "grep found no match"),
    ("for f in a b; do grep x $f; done", 1, "grep found no match"),
    ("set -o pipefail; grep x y | grep z", 1, "grep found no match"),
    ("command grep x y", 1, "grep found no match"),
    ("source .venv/bin/activate && pytest -q", 1, "some tests failed"),
    ("git -C d grep x", 1, "git grep found no match"),
    ("git diff --quiet", 1, "there are differences"),
    ("git config --get user.name", 1, "it is not set"),
    ("git log", 128, "git had a fatal error"),
    ("diff a b", 1, "they differ"),
    ("diff <(sort a) <(sort b)", 1, "they differ"),
    ("cmp a b", 2, "the comparison itself failed"),
    ("test -f x", 1, "the test is false"),
    ("[ -f x ]", 1, "the test is false"),
    ("[[ -f x ]]", 1, "the test is false"),
    ("test -f x && cat x", 1, "the test is false"),
    ("(( 0 ))", 1, "the result is zero"),
    ("pytest", 1, "some tests failed"),
    ("python3.11 -m pytest -q", 5, "pytest collected no tests"),
    ("pytest", 4, "pytest could not start: its arguments, a path, or a conftest"),
    (".venv/bin/pytest", 1, "some tests failed"),
    ("/usr/bin/test -f x", 1, "the test is false"),
    ("grep x <in 2>&1", 1, "grep found no match"),
    ("{ cd d && grep x y; } >out", 1, "grep found no match"),
    ("{ cd d 2>&1 && grep x y; }", 1, "grep found no match"),
    ("bash -lc 'work; grep x y'", 1, "grep found no match"),
    ("timeout -s KILL 5 work", 137, "ended by SIGKILL, most likely from timeout"),
    ("timeout -k 1 5 work", 137, "ended by SIGKILL, most likely from timeout"),
    ("timeout 5 sort -k 2 f", 137, "ended by SIGKILL"),
    ("$A timeout 5 work", 137, "ended by SIGKILL"),
    ("curl -fsS http://x", 22, "the server answered with an error (400 or above)"),
    ("curl http://x", 7, "the connection was refused or failed"),
    ("ssh host true", 255, "ssh itself failed: connection, host key or login"),
    ("make -j4", 2, "make stopped at a failed target; the cause is further up"),
    ("systemctl is-active x", 3, "the unit is not active"),
    ("systemctl status x", 4, "there is no such unit"),
    ("which x", 1, "not found on PATH"),
    ("command -v x", 1, "not found on PATH"),
    ("jq . f", 5, "jq failed on its input: it is not valid JSON, or the program does not fit it"),
    ("jq -e .a f", 1, "the last value was false or null"),
    ("npm outdated", 1, "some packages are outdated"),
    ("find . | xargs grep x", 123, "some commands that xargs ran failed"),
    ("work", 137, "ended by SIGKILL (out of memory, or `kill -9`)"),
    ("work", 139, "ended by SIGSEGV (invalid memory access)"),
    ("work", 130, "most likely ended by SIGINT"),
    ("work", 143, "most likely ended by SIGTERM"),
    ("set -o pipefail; yes | head -1", 141, "ended by SIGPIPE (its reader closed the pipe early)"),
    ("x 2>/dev/null", 127, "a command was not found"),
    ("x 2>/dev/null", 126, "a command could not be executed"),
]


@pytest.mark.req("T-10")
@pytest.mark.parametrize(("command", "code", "text"), SAID)
def test_known_exit_code_is_explained(command: str, code: int, text: str) -> None:
    assert explain(command, code) == Meaning(text)


def test_output_can_change_the_meaning_of_an_exit_code() -> None:
    said = "find: '/root': Permission denied"
    assert explain("find / -name x", 1, output=said) == Meaning(
        "find could not read some directories; it printed the rest"
    )
    assert explain("cargo test", 101, output="test result: FAILED. 1 passed") == Meaning("a test failed")
    assert explain("cargo check", 101, output="error: could not compile `x`") == Meaning("it did not compile")
    ran = "=== 1 failed, 3 passed in 0.31s ==="
    assert explain("uv run pytest", 1, output=ran) == Meaning("some tests failed")
    assert explain("poetry run python -m pytest -q", 1, output=ran) == Meaning("some tests failed")
    assert explain("make", 2, output="make: *** [Makefile:2: all] Error 1") == Meaning(
        "make stopped at a failed target; the cause is further up"
    )
    assert explain("git commit", 1, output="nothing to commit") == Meaning("there was nothing to commit")


UNSAID: list[tuple[str, int, str]] = [
    ("grep x y", 0, ""),
    ("grep x y", 3, ""),
    ("grep -L x y", 1, ""),
    ("grep x y | head", 1, ""),
    ("cd d && grep x y", 1, "bash: line 1: cd: d: No such file or directory"),
    ("cd d 2>/dev/null && grep x y", 1, ""),
    ("grep x < none", 1, "bash: line 1: none: No such file or directory"),
    ("grep ${x?} y", 1, "/usr/bin/bash: line 1: x: parameter null or not set"),
    ("source env.sh && grep x y", 1, ""),
    ("! grep x y", 1, ""),
    ("grep x y || exit 1", 1, ""),
    ("test -f x || exit 1; grep x y", 1, ""),
    ("work && grep x y", 1, ""),
    ("if grep x y; then work; fi", 1, ""),
    ("grep x y; work", 1, ""),
    ("$GREP x y", 1, ""),
    ("echo $(grep x y)", 1, ""),
    ("f() { grep x y; }; f", 1, ""),
    ("grep x y & wait", 1, ""),
    ("set -e; work; grep x y", 1, ""),
    ("trap 'exit 1' EXIT; grep x y", 1, ""),
    ("ssh host grep x y", 1, ""),
    ("bash -c 'work && grep x y'", 1, ""),
    ("grep 'never closed", 1, ""),
    ("{ cd d && grep x y; } 2>/dev/null", 1, ""),
    ("(grep x <none) 2>/dev/null", 1, ""),
    ("grep x 2>/dev/null <none", 1, ""),
    ("{ grep x y; } 2>/dev/null <none", 1, ""),
    ("exec 2>/dev/null; cd d && grep x y", 1, ""),
    ("(cd d && grep x y) &>log", 1, ""),
    ("bash -c 'cd d && grep x y' 2>/dev/null", 1, ""),
    ("{ cd d 2>&1 && grep x y; } >log", 1, ""),
    ("set -o pipefail; cd d |& grep x", 1, ""),
    ("(grep ${x?} y) 2>/dev/null", 1, ""),
    ("(set -u; grep $x y) 2>/dev/null", 1, ""),
    ("sh -c 'grep x <none'", 2, "sh: 1: cannot open none: No such file"),
    ("./test", 1, ""),
    ("/opt/my/test x", 1, ""),
    ("tools/read", 1, ""),
    ("./diff a b", 1, ""),
    ("./make", 2, ""),
    ("./cd d && grep x y", 1, ""),
    ("./timeout 5 work", 124, ""),
    ("./env grep x y", 1, ""),
    ("sudo grep x y", 1, "sudo: a password is required"),
    ("sudo grep x y", 1, "Sorry, user ada is not allowed to execute '/bin/grep x y' as root on shop."),
    ("sudo grep x y 2>/dev/null", 1, ""),
    ("taskset -c 99 grep x y", 1, "taskset: failed to set pid 0's affinity: Invalid argument"),
    ("uv run pytest", 1, "  × No solution found when resolving dependencies"),
    ("uv run pytest", 2, "error: Failed to spawn: `pytest`"),
    ("poetry run pytest", 1, "Poetry could not find a pyproject.toml file in / or its parents"),
    ("uv run grep x y", 1, ""),
    ("python3 -m pytest", 1, "/usr/bin/python3: No module named pytest"),
    ("pytest", 1, "Traceback (most recent call last):\nImportError: x"),
    ("python -m grep x", 1, ""),
    ("bash -ec 'work; grep x y'", 1, ""),
    ("bash -e -c 'work; grep x y'", 1, ""),
    ("bash -o errexit -c 'work; grep x y'", 1, ""),
    ("bash -o pipefail -c 'work | grep x'", 1, ""),
    ("bash -O extglob -c 'grep x y'", 1, ""),
    ("git commit --bogus", 129, "error: unknown option `bogus'\nusage: git commit"),
    ("work && git commit", 129, ""),
    ("work", 129, ""),
    ("work", 192, ""),
    ("python3 -c 'import sys; sys.exit(130)'", 130, ""),
    ("node -e 'process.exit(139)'", 139, ""),
    ("make", 2, "Makefile:3: *** missing separator.  Stop."),
    ("npm audit", 1, "npm error audit endpoint returned an error"),
    ("systemctl is-enabled x", 1, "Failed to get unit file state for x.service: No such file or directory"),
    ("lsof -i :80", 1, "lsof: unacceptable port"),
    ("fuser x", 1, "Specified filename x does not exist."),
    ("pkill -9 init", 1, "pkill: killing pid 1 failed: Operation not permitted"),
    ("ruff format x", 1, ""),
    ("black -c 'x'", 1, ""),
    ("sleep x && grep x y", 1, "sleep: invalid time interval 'x'"),
    ("git diff", 1, ""),
    ("git status", 128, "fatal: not a git repository"),
    ("curl http://x", 99, ""),
    ("find . -nwer x", 1, "find: unknown predicate `-nwer'"),
    ("make tset", 2, "make: *** No rule to make target 'tset'.  Stop."),
    ("cargo build", 101, "error: could not find `Cargo.toml`"),
    ("jq . f", 4, "parse error"),
    ("exit 139", 139, ""),
    ("work", 127, "bash: work: command not found"),
    ("./work", 126, "bash: ./work: Permission denied"),
    ("work", 255, ""),
    ("x" * 50_000, 1, ""),
    ("(" * 5_000, 1, ""),
]


@pytest.mark.parametrize(("command", "code", "output"), UNSAID)
def test_ambiguous_exit_code_is_not_explained(command: str, code: int, output: str) -> None:
    assert explain(command, code, output=output) is None


REAL: list[tuple[str, str]] = [
    ("grep x <none", "[nacre: exit 1]\nbash: line 1: none: No such file or directory"),
    ("grep x /dev/null", "[nacre: exit 1: grep found no match; no output]"),
    ("cd / && grep x /dev/null", "[nacre: exit 1: grep found no match; no output]"),
    ("echo a >a; echo b >b; diff a b >/dev/null", "[nacre: exit 1: they differ; no output]"),
    ("[ -f none ]", "[nacre: exit 1: the test is false; no output]"),
    ("timeout 0.05 sleep 60", "[nacre: exit 124: timeout killed it at its time limit; no output]"),
    ("sh -c 'kill -9 $$'; exit $?", "[nacre: exit 137: ended by SIGKILL (out of memory, or `kill -9`)]"),
    ("timeout -s KILL 0.05 sleep 60", "[nacre: exit 137: ended by SIGKILL, most likely from timeout]"),
    ("{ cd /nosuch && grep x /dev/null; } 2>/dev/null", "[nacre: exit 1; no output]"),
    ("(grep x </nosuch) 2>/dev/null", "[nacre: exit 1; no output]"),
    ("grep x 2>/dev/null </nosuch", "[nacre: exit 1; no output]"),
    ("echo '#!/bin/sh\nexit 1' >test; chmod +x test; ./test", "[nacre: exit 1; no output]"),
    ("bash -ec 'false; grep x /dev/null'", "[nacre: exit 1; no output]"),
    ("expr 1 - 1", "[nacre: exit 1: the result is zero or empty]\n0"),
    ("set -o pipefail; yes | head -1", "[nacre: exit 141: ended by SIGPIPE (its reader closed the pipe early)]\ny"),
]


@pytest.mark.req("T-10")
@pytest.mark.parametrize(("command", "text"), REAL)
async def test_model_text_explains_exit_codes_of_real_commands(
    bash: Bash, tmp_path: Path, command: str, text: str
) -> None:
    shown = model_text(await bash.run(Request(command, cwd=tmp_path)))
    assert [line for line in shown.split("\n") if "Killed" not in line] == text.split("\n")


async def test_failure_before_grep_in_a_pipeline_is_reported(bash: Bash) -> None:
    assert model_text(await bash.run("sh -c 'exit 7' | grep x")).split("\n") == [
        "[nacre: exit 1: grep found no match; no output]",
        "[nacre: In the pipeline `sh` exited with 7; the exit code is that of `grep`.]",
    ]
