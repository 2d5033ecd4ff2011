"""`nacre check`: it allows, asks or refuses, and runs nothing."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path

import pytest

from nacre import check
from tests.cli.nacre_program import Done, Nacre, finish, read_line
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S

REFUSED = "sudo bash -c 'rm -rf /'"
ASKED = "git stash drop"


def test_check_prints_allow_when_no_rule_matches(nacre: Nacre) -> None:
    assert nacre("check", "ls -la") == Done(0, b"allow\n")


def test_check_exits_2_and_prints_rule_reason_and_position_of_a_refusal(nacre: Nacre) -> None:
    done = nacre("check", REFUSED)
    assert (done.code, done.err) == (2, b"")
    assert done.out.decode() == (
        "refuse rm-root-or-home: `rm -rf /` would delete the whole file system. "
        "Instead: name the one directory that has to go, as in `rm -rf ./build`\n"
        "  at line 1, column 15, in sudo › bash\n"
    )


def test_check_exits_1_for_a_command_that_needs_approval(nacre: Nacre) -> None:
    done = nacre("check", ASKED)
    assert (done.code, done.err) == (1, b"")
    assert done.out.startswith(b"ask git-stash-drop: `git stash drop` ")


def test_check_prints_line_and_column_and_counts_further_findings(nacre: Nacre) -> None:
    done = nacre("check", f"cd /tmp\n  rm -rf /\n{ASKED}")
    assert done.out.splitlines()[-1] == b"  at line 2, column 3; 1 more: nacre explain shows all"


def test_check_and_explain_run_nothing(nacre: Nacre, tmp_path: Path) -> None:
    file = tmp_path / "made"
    for name in ("check", "explain"):
        assert nacre(name, f"touch {quote(file)}; echo $(touch {quote(file)}) <(touch {quote(file)})").code == 0
    assert not file.exists()


@pytest.mark.parametrize("words", [[], ["-"]])
def test_check_reads_the_command_from_stdin(nacre: Nacre, words: list[str]) -> None:
    assert nacre("check", *words, stdin=b"echo one\nrm -rf /\n").code == 2
    assert nacre("check", *words, stdin=b"echo 't\xffo'\n") == Done(0, b"allow\n")


def test_check_json_is_the_verdict_with_the_command(nacre: Nacre) -> None:
    done = nacre("check", "--json", REFUSED)
    assert (done.code, done.err) == (2, b"")
    assert json.loads(done.out) == {"command": REFUSED, **check(REFUSED).to_dict()}


def test_check_resolves_relative_paths_against_cwd(nacre: Nacre) -> None:
    assert nacre("check", "--cwd", "/", "rm -rf usr").code == 2
    assert nacre("check", "--cwd=/nowhere", "rm -rf usr").code == 0


def test_check_expands_variables_given_with_env(nacre: Nacre) -> None:
    assert nacre("check", "--env", "X=/", 'rm -rf "$X"').code == 2
    assert nacre("check", "--env=X=./build", "--env", "Y=1", 'rm -rf "$X"').code == 0


def test_check_treats_stdin_of_a_shell_as_a_script(nacre: Nacre) -> None:
    assert nacre("check", "bash").code == 0
    assert nacre("check", "--stdin", "rm -rf /", "bash").code == 2
    assert nacre("check", "--stdin=rm -rf /", "cat").code == 0
    assert nacre("explain", "--stdin", "rm -rf /", "bash").code == 2


def test_check_and_explain_escape_control_characters(nacre: Nacre) -> None:
    done = nacre("check", "rm -rf / '\x1b[2J'")
    assert done.code == 2
    assert b"\x1b" not in done.out
    assert b"\x1b" not in nacre("explain", "rm -rf / '\x1b[2J'").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", " "], "The command is empty. Give a shell command."),
        (["check"], "The command is empty. Give a shell command."),
        (["check", "ls", "-la"], "The command must be one argument, got 2. Quote it: nacre check 'ls -la'"),
        (["check", "--jsno", "ls"], "Unknown option: --jsno. Did you mean: --json"),
        (["check", "-x", "ls"], "Unknown option: -x. Try: nacre check --help"),
        (["check", "ls", "--cwd"], "--cwd needs a value. A value that begins with '-' is written --cwd=VALUE."),
        (["check", "--env", "A", "ls"], "Invalid value for --env: 'A'. Write NAME=VALUE."),
        (["explain", "rm", "-rf", "x y"], "Quote it: nacre explain 'rm -rf '\"'\"'x y'\"'\"''"),
        (["rules", "a", "b"], "nacre rules does not take 'b'. Try: nacre rules --help"),
        (["rules", "git-stash-drp"], "Unknown rule 'git-stash-drp'. Did you mean: nacre rules git-stash-drop"),
        (["rules", "qqq"], "Unknown rule 'qqq'. `nacre rules` lists all of them."),
    ],
)
def test_usage_errors_of_the_checker_exit_3_and_name_the_fix(nacre: Nacre, words: list[str], said: str) -> None:
    done = nacre(*words)
    assert (done.code, done.out) == (3, b"")
    assert done.err.decode().startswith("nacre: ")
    assert done.err.decode().endswith(f"{said}\n")


def test_unknown_command_near_check_exits_125(nacre: Nacre) -> None:
    done = nacre("chek", "ls")
    assert done == Done(125, err=b"nacre: Unknown command 'chek'. Did you mean: nacre check\n")


def test_check_json_prints_errors_as_json(nacre: Nacre) -> None:
    done = nacre("check", "--json", "")
    assert (done.code, done.err) == (3, b"")
    assert json.loads(done.out)["error"]["message"] == "The command is empty."


def test_checked_command_after_double_dash_may_begin_with_a_dash(nacre: Nacre) -> None:
    assert nacre("check", "--", "-x; rm -rf /").code == 2


@pytest.mark.parametrize("name", ["check", "explain", "rules"])
def test_help_of_checker_commands_goes_to_stdout_and_exits_0(nacre: Nacre, name: str) -> None:
    done = nacre(name, "--help")
    assert (done.code, done.err) == (0, b"")
    assert done.out.startswith(f"usage: nacre {name} ".encode())


def test_check_exits_3_when_its_answer_cannot_be_written(nacre: Nacre) -> None:
    with open("/dev/full", "wb") as full, nacre.start("check", "ls", stdout=full.fileno()) as program:
        done = finish(program)
    assert done == Done(3, err=b"nacre: Cannot write the output: No space left on device.\n")


class TestLines:
    """`--jsonl`: many commands at once."""

    def test_jsonl_answers_are_in_order_and_the_strictest_sets_the_exit_code(self, nacre: Nacre) -> None:
        commands = ["ls", REFUSED, ASKED]
        done = nacre("check", "--jsonl", stdin="".join(json.dumps(each) + "\n" for each in commands).encode())
        assert (done.code, done.err) == (2, b"")
        answers = [json.loads(line) for line in done.out.splitlines()]
        assert answers == [{"command": each, **check(each).to_dict()} for each in commands]

    def test_jsonl_object_sets_cwd_env_and_stdin(self, nacre: Nacre) -> None:
        lines = [
            {"command": "rm -rf usr", "cwd": "/"},
            {"command": "rm -rf $X", "env": {"X": "/"}},
            {"command": "bash", "stdin": "rm -rf /"},
            {"command": "bash"},
        ]
        done = nacre("check", "--jsonl", stdin="\n".join(map(json.dumps, lines)).encode())
        assert [json.loads(line)["decision"] for line in done.out.splitlines()] == ["refuse"] * 3 + ["allow"]

    def test_jsonl_lines_override_cwd_and_stdin_of_the_command_line(self, nacre: Nacre) -> None:
        lines = [{"command": "rm -rf usr"}, {"command": "rm -rf usr", "cwd": "/nowhere"}]
        done = nacre("check", "--jsonl", "--cwd", "/", stdin="\n".join(map(json.dumps, lines)).encode())
        assert [json.loads(line)["decision"] for line in done.out.splitlines()] == ["refuse", "allow"]
        lines = [{"command": "bash"}, {"command": "bash", "stdin": ""}]
        done = nacre("check", "--jsonl", "--stdin=rm -rf /", stdin="\n".join(map(json.dumps, lines)).encode())
        assert [json.loads(line)["decision"] for line in done.out.splitlines()] == ["refuse", "allow"]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (b"ls -la", None),
            (b'"\xff"', None),
            (b"[" * 100_000, None),
            (b"17", "The line must be a string or an object."),
            (b'""', "The command is empty."),
            (b'"a\\u0000b"', "`command` contains a NUL byte, which a shell cannot read."),
            (b"{}", "`command` is missing."),
            (b'{"comand": "ls"}', "Unknown field: 'comand'."),
            (b'{"command": 1}', "`command` must be a string."),
            (b'{"command": "ls", "cwd": []}', "`cwd` must be a string."),
            (b'{"command": "ls", "env": {"A": 1}}', "`env` must be an object of strings."),
        ],
    )
    def test_jsonl_bad_line_gets_an_error_and_the_others_their_verdicts(
        self, nacre: Nacre, line: bytes, message: str | None
    ) -> None:
        done = nacre("check", "--jsonl", stdin=b'"ls"\n' + line + b'\n"rm -rf /"\n')
        assert (done.code, done.err) == (3, b"")
        first, bad, last = (json.loads(each) for each in done.out.splitlines())
        assert (first["decision"], last["decision"]) == ("allow", "refuse")
        assert sorted(bad) == ["error", "line"]
        assert bad["line"] == 2
        if message is not None:
            assert bad["error"]["message"] == message

    def test_jsonl_skips_empty_lines(self, nacre: Nacre) -> None:
        done = nacre("check", "--jsonl", stdin=b'\n"ls"\n\n')
        assert (done.code, done.out.count(b"\n")) == (0, 1)

    def test_jsonl_answers_each_line_before_reading_the_next(self, nacre: Nacre) -> None:
        with nacre.start("check", "--jsonl") as program:
            assert program.stdin is not None
            assert program.stdout is not None
            for command, decision in (("ls", "allow"), ("rm -rf /", "refuse")):
                program.stdin.write(json.dumps(command).encode() + b"\n")
                program.stdin.flush()
                assert json.loads(read_line(program.stdout.fileno()))["decision"] == decision
            assert select.select([program.stdout], [], [], 0)[0] == []
            assert finish(program) == Done(2)

    def test_jsonl_escapes_surrogates_in_the_answer(self, nacre: Nacre) -> None:
        done = nacre("check", "--jsonl", stdin=b'"echo \\udcff"\n')
        assert done.code == 0
        assert json.loads(done.out)["command"] == "echo \udcff"


HEAVY = {
    "argparse",
    "asyncio",
    "json",
    "mcp",
    "nacre.keeper",
    "nacre.bash",
    "platformdirs",
    "pydantic",
    "rich",
    "socket",
}


@pytest.mark.parametrize("command", ["ls", REFUSED, ASKED])
def test_check_loads_no_heavy_modules(nacre: Nacre, command: str) -> None:
    program = "import sys; from nacre.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    words = [sys.executable, "-c", program, "check", command]
    done = subprocess.run(words, capture_output=True, timeout=HANG_TIMEOUT_S, env=nacre.env, check=True)
    loaded = set(done.stdout.decode().split())
    assert "nacre.cli.check.command" in loaded
    assert not loaded & HEAVY
