"""`nacre run` at a terminal: a panel, a live view, and no terminal control sequence except nacre's own."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from nacre import run_sync
from nacre.ansi.render import render
from nacre.views.model.with_spill import for_model
from tests.cli.nacre_program import NACRE, Done, Nacre, Program, need_locale, read_terminal
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S

HOSTILE = r"printf 'hi\n\e]52;c;aGk=\a\e[2J\e]0;owned\a'"


@contextmanager
def person(
    nacre: Nacre, *words: str, env: Mapping[str, str] | None = None, stdout: int | None = None
) -> Iterator[tuple[Program, int]]:
    """Start the program with a terminal as stdout and stderr, or as stderr only; yield it and our end of that."""
    places = {"LANG": "C.UTF-8", "TERM": "xterm-256color", "LC_ALL": "", "LC_CTYPE": "", "NO_COLOR": ""}
    need_locale({**nacre.env, **places, **(env or {})})
    ours, theirs = pty.openpty()
    resize(theirs, 80, 30)
    try:
        with subprocess.Popen(
            [*NACRE, *words],
            stdin=subprocess.DEVNULL,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            cwd=nacre.home,
            env={**nacre.env, **places, **(env or {})},
            start_new_session=True,
        ) as program:
            os.close(theirs)
            try:
                yield program, ours
            finally:
                program.kill()
    finally:
        os.close(ours)


def resize(fd: int, columns: int, lines: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def run_in_terminal(nacre: Nacre, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run the program; return its exit code and all that the terminal received."""
    with person(nacre, *words, env=env) as (program, terminal):
        said = read_terminal(terminal).decode()
        return program.wait(HANG_TIMEOUT_S), said.replace("\r\n", "\n")


def bare(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.req("T-11")
def test_terminal_gets_a_panel(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "--timeout", "60", "echo out; echo err >&2; exit 3")
    lines = bare(said).splitlines()
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
    with person(nacre, "run", f"{HOSTILE}; {HOSTILE} >&2", stdout=theirs) as (program, terminal):
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
    assert bare(said).startswith("-- $ printf '")
    assert "\n\\xe9\n" in said


@pytest.mark.req("T-11")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("explain", "sudo rm -rf é; : '\u06db'"), "sudo\n+- rm -rf \\xe9"),
        (("explain", "--json", "ls é"), r'"command": "ls \u00e9"'),
        (("run", "--cwd", "/né", "true"), r"nacre: The working directory '/n\xe9' does not exist."),
        (("run", "--view", "model", "echo é \u06db"), r"\xe9 \u06db"),
        (("gallery", "ok"), "ok: A command"),
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
    assert "Instead: " in bare(said)
    assert "git push --force-with-lease" in said


@pytest.mark.req("M-10")
def test_background_task_panel_shows_the_kill_command(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "--background", "sleep 60")
    found = re.search(r"nacre kill (bash-[0-9a-f]{8})", bare(said))
    assert code == 0
    assert found is not None
    assert "Background Task Started" in said
    assert nacre("kill", found[1]).code == 0


@pytest.mark.req("M-10")
def test_live_view_shows_output_and_is_replaced_by_the_panel(nacre: Nacre, gate: Gate) -> None:
    with person(nacre, "run", f"echo first; {gate.wait}; echo last") as (program, terminal):
        said = read_terminal(terminal, until=b"Ctrl-C ends it")
        assert b"first" in said
        gate.open()
        said += read_terminal(terminal)
        assert program.wait(HANG_TIMEOUT_S) == 0
    rows = render(said.decode()).text.split("\n")
    assert rows[0].endswith(" ok ──")
    assert rows[3:5] == ["first", "last"]
    assert not any("Ctrl-C" in row for row in rows)


@pytest.mark.parametrize(
    ("words", "timeout"),
    [
        ((), "120s"),
        (("--mode", "slow"), "900s"),
        (("--timeout", "9999"), "3600s"),
        (("--yield-after", "3000"), "none"),
        (("--yield-after", "3000", "--timeout", "3500"), "3500s"),
    ],
)
def test_live_view_and_panel_show_the_timeout_in_force(
    nacre: Nacre, gate: Gate, words: tuple[str, ...], timeout: str
) -> None:
    env = {"NO_COLOR": "1"}
    with person(nacre, "run", *words, f"echo first; {gate.wait}", env=env) as (program, terminal):
        live = read_terminal(terminal, until=b"Ctrl-C ends it").decode().splitlines()[-1]
        gate.open()
        rows = render(read_terminal(terminal).decode()).text.split("\n")
        assert program.wait(HANG_TIMEOUT_S) == 0
    assert [*re.findall(r" of (\d+s)", live), "none"][0] == timeout
    assert f"cwd: {nacre.home}  timeout: {timeout}" in rows


@pytest.mark.linux  # elsewhere a command that has exited at once looks like one that has begun
def test_task_that_exits_at_once_shows_a_timeout_only_if_requested(nacre: Nacre) -> None:
    _, said = run_in_terminal(nacre, "run", "--background", "exit 3", env={"NO_COLOR": "1"})
    assert f"cwd: {nacre.home}\n" in said
    _, said = run_in_terminal(nacre, "run", "--background", "--timeout", "5000", "exit 3", env={"NO_COLOR": "1"})
    assert f"cwd: {nacre.home}  timeout: 5000s\n" in said


TOKEN = {"MY_API_TOKEN": "hunter2hunter2hunter2xyz"}


def test_live_view_and_panel_mask_secrets(nacre: Nacre, gate: Gate) -> None:
    with person(nacre, "run", f"echo hunter2hunter2hunter2xyz; {gate.wait}", env={**TOKEN, "NO_COLOR": "1"}) as (
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


@pytest.mark.req("M-10")
def test_live_view_redraws_to_fit_a_resized_terminal(nacre: Nacre, gate: Gate) -> None:
    with person(nacre, "run", f"echo first; {gate.wait}") as (program, terminal):
        read_terminal(terminal, until=b"Ctrl-C ends it")
        resize(terminal, 40, 20)
        read_terminal(terminal, until="─".encode() * 39 + b"\x1b[0m\x1b[K")
        gate.open()
        assert "─" * 41 not in read_terminal(terminal).decode()
        assert program.wait(HANG_TIMEOUT_S) == 0


@pytest.mark.req("M-10")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_removes_the_live_view_and_restores_the_terminal(
    nacre: Nacre, life: Lifeline, number: signal.Signals
) -> None:
    with person(nacre, "run", f"{life.hold} echo here; sleep 60") as (program, terminal):
        said = read_terminal(terminal, until=b"Ctrl-C ends it")
        program.send_signal(number)
        said += read_terminal(terminal)
        assert program.wait(HANG_TIMEOUT_S) == 128 + number
    assert life.over
    rows = render(said.decode()).text.split("\n")
    assert rows[0].endswith(" cancelled ──")
    assert not any("Ctrl-C" in row for row in rows)
    assert said.count(b"\x1b[?7l") == said.count(b"\x1b[?7h")
    assert b"\x1b[?25l" not in said


@pytest.mark.req("M-10")
def test_ctrl_z_clears_the_live_view_and_it_is_drawn_again(nacre: Nacre, gate: Gate) -> None:
    with person(nacre, "run", f"echo here; {gate.wait}") as (program, terminal):
        said = read_terminal(terminal, until=b"Ctrl-C ends it")
        program.send_signal(signal.SIGTSTP)  # it is in an orphaned process group: the kernel does not stop it
        said += read_terminal(terminal, until=b"\r\x1b[4A\x1b[J")  # back to its first line, and clears below
        said += read_terminal(terminal, until=b"Ctrl-C ends it")
        gate.open()
        said += read_terminal(terminal)
        assert program.wait(HANG_TIMEOUT_S) == 0
    rows = render(said.decode()).text.split("\n")
    assert rows[0].endswith(" ok ──")
    assert not any("Ctrl-C" in row for row in rows)


def test_closed_terminal_kills_the_command(nacre: Nacre, life: Lifeline) -> None:
    with person(nacre, "run", f"{life.hold} yes") as (program, terminal):
        read_terminal(terminal, until=b"Ctrl-C ends it")
        resize(terminal, 80, 30)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, terminal)
        os.close(null)
        program.wait(HANG_TIMEOUT_S)
    life.wait_over()


def test_stopped_terminal_does_not_block_the_command(nacre: Nacre, gate: Gate, tmp_path: Path) -> None:
    """As with Ctrl-S: the terminal's output is not read."""
    with person(nacre, "run", f"{gate.wait}; yes | head -c 20000000; {gate.wait}; echo end") as (program, terminal):
        read_terminal(terminal, until=b"Ctrl-C ends it")
        gate.open()
        gate.open()  # it has printed twenty megabytes, all unread
        said = read_terminal(terminal)
        assert program.wait(HANG_TIMEOUT_S) == 0
    assert b"stdout: 10,000,001 lines" in said


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
    assert [_nameless(done.out.decode()), done.err] == [_nameless(text + "\n"), b""]


def _nameless(text: str) -> str:
    return re.sub(r"bash-[0-9a-f]{8}", "bash-…", text)


LONG = "seq 1 5000"
PRINTED = "".join(f"{number}\n" for number in range(1, 5001)).encode()


def _saved_file(said: str) -> Path:
    """Return the file that a view names."""
    found = re.search(r"'(/[^']+/bash-[0-9a-f]{8}\.log)'|(\S+/bash-[0-9a-f]{8}\.log)", bare(said))
    assert found is not None, said
    return Path(found[1] or found[2])


@pytest.mark.parametrize("view", ["panel", "model"])
def test_truncated_output_is_saved_to_a_private_file_that_is_named(nacre: Nacre, view: str) -> None:
    file = _saved_file(run_in_terminal(nacre, "run", "--view", view, LONG)[1])
    assert file.parent == nacre.state / "nacre" / "outputs"
    assert file.read_bytes() == PRINTED
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("view", ["panel", "model"])
def test_output_dir_holds_the_saved_output(nacre: Nacre, view: str) -> None:
    (nacre.home / "here").mkdir()
    for place in ("here", str(nacre.home / "new")):
        file = _saved_file(run_in_terminal(nacre, "run", "--view", view, "--output-dir", place, LONG)[1])
        assert file.parent == nacre.home / place
        assert file.read_bytes() == PRINTED
    assert not (nacre.state / "nacre" / "outputs").exists()


@pytest.mark.parametrize("view", ["panel", "model"])
def test_saved_output_includes_bytes_beyond_the_memory_limit(nacre: Nacre, view: str) -> None:
    file = _saved_file(run_in_terminal(nacre, "run", "--view", view, "seq 1 400000")[1])
    assert file.stat().st_size == 2_688_895


@pytest.mark.parametrize("words", [("--plain",), ("--json",), ("--view", "stream")])
def test_untruncated_views_save_no_output_file(nacre: Nacre, words: tuple[str, ...]) -> None:
    run_in_terminal(nacre, "run", *words, "seq 1 400000")
    nacre("run", *words, "seq 1 400000")
    nacre("run", "seq 1 400000")
    run_in_terminal(nacre, "run", "--view", "panel", "seq 1 50")
    assert not (nacre.state / "nacre" / "outputs").exists()


def test_saved_outputs_are_deleted_after_a_week_and_other_files_stay(nacre: Nacre) -> None:
    place = nacre.state / "nacre" / "outputs"
    place.mkdir(parents=True)
    names = ("bash-00000001.log", "bash-00000002.log", "notes.txt")
    for name, days in zip(names, (8, 6, 8), strict=True):
        (place / name).write_text("x")
        os.utime(place / name, (time.time() - days * 86400,) * 2)
    new = _saved_file(run_in_terminal(nacre, "run", LONG)[1])
    assert {path.name for path in place.iterdir()} == {*names[1:], new.name}


def test_saved_outputs_beyond_200_are_deleted_oldest_first(nacre: Nacre) -> None:
    place = nacre.state / "nacre" / "outputs"
    place.mkdir(parents=True)
    for number in range(200):
        (place / f"bash-{number:08x}.log").write_text("x")
        os.utime(place / f"bash-{number:08x}.log", (time.time() - 1000 + number,) * 2)
    new = _saved_file(run_in_terminal(nacre, "run", LONG)[1])
    left = {path.name for path in place.iterdir()}
    assert len(left) == 200
    assert {"bash-00000000.log", new.name} & left == {new.name}


@pytest.mark.req("M-10")
def test_stream_view_ends_with_exit_code_and_duration(nacre: Nacre, gate: Gate) -> None:
    command = rf"printf 'one\e[2J\n'; {gate.wait}; printf two; exit 3"
    with person(nacre, "run", "--view", "stream", "--description", "Count", command) as (program, terminal):
        rule = "─" * 80
        assert bare(read_terminal(terminal, until=b"one\\x1b[2J\r\n").decode()) == (
            f"Running: Count\r\n{rule}\r\none\\x1b[2J\r\n"
        )
        gate.open()
        rest = bare(read_terminal(terminal).decode()).split("\r\n")
        assert program.wait(HANG_TIMEOUT_S) == 3
    assert rest[:3] == ["two", rule, "Exit code: 3"]
    assert re.fullmatch(r"Duration: \d+(ms|\.\ds)", rest[3])


def test_stream_view_of_a_refused_command_is_the_refusal_panel(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "--view", "stream", "git push -f")
    assert (code, "Command blocked" in said, "Exit code" in said) == (126, True, False)


def test_stream_view_of_a_background_task_is_the_task_panel(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "--view", "stream", "--background", "sleep 60")
    found = re.search(r"nacre kill (bash-[0-9a-f]{8})", bare(said))
    assert (code, "Background Task Started" in said) == (0, True)
    assert found is not None
    assert nacre("kill", found[1]).code == 0


@pytest.mark.req("T-11")
def test_panel_of_a_long_output_ends_with_the_exit_status(nacre: Nacre) -> None:
    code, said = run_in_terminal(nacre, "run", "seq 1 99; exit 1")
    assert code == 1
    assert bare(said).splitlines()[-1].startswith("exit 1  stdout: 99 lines")


def test_ctrl_backslash_leaves_the_terminal_on_a_new_line(nacre: Nacre, life: Lifeline) -> None:
    with person(nacre, "run", f"{life.hold} sleep 60") as (program, terminal):
        read_terminal(terminal, until=b"Ctrl-C ends it")
        program.send_signal(signal.SIGQUIT)
        assert read_terminal(terminal).endswith(b"\r\n")
        assert program.wait(HANG_TIMEOUT_S) == -signal.SIGQUIT
    life.wait_over()


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
