"""`nacre run` at a terminal: a panel, a stream, and no terminal control sequence except nacre's own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nacre import run_sync
from nacre.views.model.with_spill import for_model
from tests.cli.nacre_program import Done, Nacre, read_terminal
from tests.cli.terminal import run_in_terminal, start_at_terminal, strip_styles
from tests.support.lifeline import Gate
from tests.support.waiting import HANG_TIMEOUT_S

HOSTILE = r"printf 'hi\n\e]52;c;aGk=\a\e[2J\e]0;owned\a'"


@pytest.mark.req("T-11")
def test_terminal_gets_a_panel(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "--timeout", "60", "echo out; echo err >&2; exit 3")
    lines = strip_styles(said).splitlines()
    assert code == 3
    assert lines[0].startswith("── $ echo out; echo err >&2; exit 3 ──")
    assert lines[0].endswith(" exit 3 ──")
    assert lines[1] == f"cwd: {nacre.home}  timeout: 60s"
    assert sorted(lines[3:5]) == ["err", "out"]
    assert re.fullmatch(r"stdout: 1 line  stderr: 1 line  \d+ms", lines[6])
    assert "\x1b[31merr\x1b[0m" in said


@pytest.mark.req("T-11")
@pytest.mark.parametrize("words", [(), ("--view", "panel")])
def test_panel_passes_no_escape_sequences_to_the_terminal(nacre: Nacre, words: tuple[str, ...]) -> None:
    code, said = run_in_terminal(nacre, "run", *words, HOSTILE, env={"NO_COLOR": "1"})
    assert code == 0
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "\nhi\n" in said
    assert "(clipboard, title)" in said


@pytest.mark.req("T-11")
def test_terminal_on_stderr_only_gets_escaped_output_and_the_pipe_raw(nacre: Nacre) -> None:
    ours, theirs = os.pipe()
    with start_at_terminal(nacre, "run", f"{HOSTILE}; {HOSTILE} >&2", stdout=theirs) as (program, terminal):
        os.close(theirs)
        assert read_terminal(terminal) == rb"hi" + b"\r\n" + rb"\x1b]52;c;aGk=\x07\x1b[2J\x1b]0;owned\x07"
        assert program.wait(HANG_TIMEOUT_S) == 0
    with open(ours, "rb") as file:  # compare the raw bytes
        assert file.read() == b"hi\n\x1b]52;c;aGk=\x07\x1b[2J\x1b]0;owned\x07"


@pytest.mark.parametrize("words", [("--plain",), ("--view", "plain"), ("--view=plain",)])
def test_plain_view_passes_every_byte_to_the_terminal(nacre: Nacre, words: tuple[str, ...]) -> None:
    code, said = run_in_terminal(nacre, "run", *words, HOSTILE)
    assert (code, said) == (0, "hi\n\x1b]52;c;aGk=\x07\x1b[2J\x1b]0;owned\x07")


def test_pipe_gets_every_byte_of_the_output(nacre: Nacre) -> None:
    assert nacre("run", HOSTILE) == Done(0, b"hi\n\x1b]52;c;aGk=\x07\x1b[2J\x1b]0;owned\x07")


@pytest.mark.req("T-11")
def test_panel_in_a_pipe_has_no_colour(nacre: Nacre) -> None:
    done = nacre("run", "--view", "panel", "echo hi", env={"COLUMNS": "60", "LANG": "C.UTF-8", "LC_ALL": ""})
    assert done.code == 0
    assert b"\x1b" not in done.out
    assert done.out.decode().splitlines()[0] == "── $ echo hi " + "─" * 41 + " ok ──"


@pytest.mark.req("T-11")
@pytest.mark.parametrize("env", [{"LC_ALL": "C"}, {"LANG": "C"}, {"LANG": "de_DE.ISO-8859-1"}])
def test_terminal_without_utf8_gets_an_ascii_panel(nacre: Nacre, env: dict[str, str]) -> None:
    code, said = run_in_terminal(nacre, "run", r"printf '\303\251\n'", env=env)
    assert code == 0
    assert said.isascii()
    assert strip_styles(said).startswith("-- $ printf '")
    assert "\n\\xe9\n" in said


@pytest.mark.req("T-11")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("explain", "sudo rm -rf é; : '\u06db'"), "sudo\n+- rm -rf \\xe9"),
        (("explain", "--json", "ls é"), r'"command": "ls \u00e9"'),
        (("run", "--cwd", "/né", "true"), r"nacre: The working directory '/n\xe9' does not exist."),
        (("run", "--view", "model", "echo é \u06db"), r"\xe9 \u06db"),
    ],
)
def test_commands_write_only_ascii_to_a_terminal_without_utf8(nacre: Nacre, words: tuple[str, ...], says: str) -> None:
    _, said = run_in_terminal(nacre, *words, env={"LC_ALL": "C", "NO_COLOR": "1"})
    assert said.isascii()
    assert says in said


def test_model_view_escapes_invisible_characters_on_a_terminal_only(nacre: Nacre) -> None:
    command = r"printf '\xe2\x80\x8b\xe2\x80\xaeabc\n'"
    assert run_in_terminal(nacre, "run", "--view", "model", command) == (0, "\\u200b\\u202eabc\n")
    assert nacre("run", "--view", "model", command).out.decode() == "\u200b\u202eabc\n"


@pytest.mark.req("T-11")
def test_no_color_variable_disables_colour(nacre: Nacre) -> None:
    assert "\x1b" not in run_in_terminal(nacre, "run", "echo '{\"a\": 1}'; exit 1", env={"NO_COLOR": "1"})[1]


@pytest.mark.req("M-10")
def test_refused_command_is_a_panel_that_names_an_alternative(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "git push -f")
    assert code == 126
    assert "Command blocked" in said
    assert "Instead: " in strip_styles(said)
    assert "git push --force-with-lease" in said


@pytest.mark.req("M-10")
def test_background_task_panel_shows_the_kill_command(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "--background", "sleep 60")
    found = re.search(r"nacre kill (bash-[0-9a-f]{8})", strip_styles(said))
    assert code == 0
    assert found is not None
    assert "Background Task Started" in said
    assert nacre("kill", found[1]).code == 0


@pytest.mark.linux  # elsewhere a command that has exited at once looks like one that has begun
def test_task_that_exits_at_once_shows_a_timeout_only_if_requested(nacre: Nacre) -> None:
    _, said = run_in_terminal(nacre, "run", "--background", "exit 3", env={"NO_COLOR": "1"})
    assert f"cwd: {nacre.home}\n" in said
    _, said = run_in_terminal(nacre, "run", "--background", "--timeout", "5000", "exit 3", env={"NO_COLOR": "1"})
    assert f"cwd: {nacre.home}  timeout: 5000s\n" in said


TOKEN = {"MY_API_TOKEN": "hunter2hunter2hunter2xyz"}


def test_live_view_and_panel_mask_secrets(nacre: Nacre, gate: Gate) -> None:
    with start_at_terminal(
        nacre, "run", f"echo hunter2hunter2hunter2xyz; {gate.wait}", env={**TOKEN, "NO_COLOR": "1"}
    ) as (
        program,
        terminal,
    ):
        live = read_terminal(terminal, until=b"Ctrl-C ends it")
        gate.open()
        panel = read_terminal(terminal)
        assert program.wait(HANG_TIMEOUT_S) == 0
    for said in (live, panel):
        assert (b"hunter2" in said, said.count(b"[secret]") >= 2) == (False, True)


def test_hints_and_json_output_mask_secrets(nacre: Nacre) -> None:
    (nacre.home / "hunter2hunter2hunter2xyz").mkdir()
    (nacre.home / "hunter2hunter2hunter2xyz" / "main.py").write_text("")
    done = nacre("run", "--plain", "cat hunter2hunter2hunter2xyz/mian.py", env=TOKEN)
    assert done.err.decode().splitlines()[1:] == [
        "nacre: There is no '[secret]/mian.py'; did you mean '[secret]/main.py'?"
    ]
    told = nacre("run", "--json", "echo hunter2hunter2hunter2xyz", env=TOKEN)
    assert b"hunter2" not in told.out


def test_dumb_terminal_gets_the_panel_without_a_live_view(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "sleep 0.4; echo hi", env={"TERM": "dumb"})
    assert code == 0
    assert "\x1b" not in said
    assert "Ctrl-C" not in said
    assert "\nhi\n" in said


def test_model_view_prints_status_and_output(nacre: Nacre) -> None:
    done = nacre("run", "--view", "model", "echo hi; exit 3")
    assert (done.code, done.out) == (3, b"[nacre: exit 3]\nhi\n")


def test_model_view_equals_the_text_of_the_library(nacre: Nacre, tmp_path: Path) -> None:
    command = "seq 1 300000; echo ERROR in the middle; seq 1 300000"
    text = for_model(run_sync(command, output_dir=tmp_path))
    done = nacre("run", "--view", "model", "--output-dir", str(tmp_path), command)
    assert "ERROR in the middle" in text
    assert [_mask_ids(done.out.decode()), done.err] == [_mask_ids(text + "\n"), b""]


def _mask_ids(text: str) -> str:
    return re.sub(r"bash-[0-9a-f]{8}", "bash-…", text)


@pytest.mark.req("M-10")
def test_stream_view_ends_with_exit_code_and_duration(nacre: Nacre, gate: Gate) -> None:
    command = rf"printf 'one\e[2J\n'; {gate.wait}; printf two; exit 3"
    with start_at_terminal(nacre, "run", "--view", "stream", "--description", "Count", command) as (program, terminal):
        rule = "─" * 80
        assert strip_styles(read_terminal(terminal, until=b"one\\x1b[2J\r\n").decode()) == (
            f"Running: Count\r\n{rule}\r\none\\x1b[2J\r\n"
        )
        gate.open()
        rest = strip_styles(read_terminal(terminal).decode()).split("\r\n")
        assert program.wait(HANG_TIMEOUT_S) == 3
    assert rest[:3] == ["two", rule, "Exit code: 3"]
    assert re.fullmatch(r"Duration: \d+(ms|\.\ds)", rest[3])


def test_stream_view_of_a_refused_command_is_the_refusal_panel(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "--view", "stream", "git push -f")
    assert (code, "Command blocked" in said, "Exit code" in said) == (126, True, False)


def test_stream_view_of_a_background_task_is_the_task_panel(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "--view", "stream", "--background", "sleep 60")
    found = re.search(r"nacre kill (bash-[0-9a-f]{8})", strip_styles(said))
    assert (code, "Background Task Started" in said) == (0, True)
    assert found is not None
    assert nacre("kill", found[1]).code == 0


@pytest.mark.req("T-11")
def test_panel_of_a_long_output_ends_with_the_exit_status(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "seq 1 99; exit 1")
    assert code == 1
    assert strip_styles(said).splitlines()[-1].startswith("exit 1  stdout: 99 lines")


@pytest.mark.req("P-011")
def test_json_display_field_is_the_shortened_command(nacre: Nacre) -> None:
    command = f"cd {nacre.home} && echo hi || echo no"
    result = json.loads(nacre("run", "--json", command).out)
    assert (result["command"], result["display"]) == (command, "echo hi || echo no")


@pytest.mark.parametrize("words", [("--view", "json"), ("--view=json",), ("--json",)])
def test_view_json_equals_the_json_option(nacre: Nacre, words: tuple[str, ...]) -> None:
    assert json.loads(nacre("run", *words, "echo hi").out)["stdout"] == "hi\n"


@pytest.mark.parametrize("words", [("--view", "json"), ("--view=json",)])
def test_errors_are_json_with_view_json(nacre: Nacre, words: tuple[str, ...]) -> None:
    assert json.loads(nacre("run", *words, " ").out)["error"]["code"] == "empty_command"


def test_two_view_options_exclude_each_other(nacre: Nacre) -> None:
    done = nacre("run", "--plain", "--view", "panel", "true")
    assert (done.code, done.err) == (125, b"nacre: --json, --plain and --view exclude each other.\n")


def test_run_into_a_pipe_loads_no_view_modules(nacre: Nacre) -> None:
    look = (
        "import os, sys, nacre.cli\n"
        "def leave(code):\n"
        "    found = sorted(name for name in sys.modules if name.split('.')[0] in ('rich', 'pygments'))\n"
        "    print(code, found + [name for name in sys.modules if name.startswith('nacre.views')])\n"
        "    sys.stdout.flush()\n"
        "    leaves(code)\n"
        "leaves, os._exit = os._exit, leave\n"
        "sys.argv = ['nacre', 'run', 'true']\n"
        "nacre.cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], env=nacre.env, cwd=nacre.home, capture_output=True, timeout=HANG_TIMEOUT_S
    )
    assert (done.stdout, done.stderr) == (b"0 []\n", b"")
