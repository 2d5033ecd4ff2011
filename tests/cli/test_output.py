"""Output passes through: every byte, streams separate, while the command runs, as long as there is a reader."""

from __future__ import annotations

import os

import pytest

from tests.cli.nacre_program import Done, Nacre, finish, read
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S


@pytest.mark.req("M-04")
def test_both_streams_pass_every_byte_unchanged(nacre: Nacre) -> None:
    data = bytes(range(256)) * 5000
    assert nacre("run", "--stdin", "-", "tee /dev/stderr", stdin=data) == Done(0, data, data)


@pytest.mark.req("M-04")
def test_stdout_and_stderr_stay_separate(nacre: Nacre) -> None:
    assert nacre("run", "echo out; echo err >&2; printf more") == Done(0, b"out\nmore", b"err\n")


@pytest.mark.req("Y-03")
def test_merged_streams_keep_their_order(nacre: Nacre) -> None:
    done = nacre("run", "--merge", "for i in 1 2 3; do echo out $i; echo err $i >&2; done")
    assert done == Done(0, b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n")


@pytest.mark.req("M-07")
def test_output_arrives_while_the_command_runs(nacre: Nacre, gate: Gate) -> None:
    with nacre.start("run", f"echo first; {gate.wait}; printf sec; {gate.wait}; echo ond") as program:
        read(program, b"first\n")
        gate.open()
        read(program, b"sec")
        gate.open()
        assert finish(program) == Done(0, b"ond\n")


def test_slow_reader_gets_all_output(nacre: Nacre, life: Lifeline) -> None:
    with nacre.start("run", f"{life.hold} head -c 30000000 /dev/zero; echo end >&2") as program:
        life.wait_held()
        read(program, bytes(1000))
        assert program.poll() is None  # 30 MB do not fit into any pipe buffer
        assert finish(program) == Done(0, bytes(30_000_000 - 1000), b"end\n")


def test_non_blocking_stdout_pipe_gets_all_output(nacre: Nacre) -> None:
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with nacre.start("run", "head -c 5000000 /dev/zero", stdout=theirs) as program, open(ours, "rb") as file:
        os.close(theirs)
        assert file.read() == bytes(5_000_000)
        assert finish(program) == Done(0)


@pytest.mark.parametrize("command", ["yes", "head -c 100M /dev/zero; sleep 60", "while echo x; do :; done; sleep 60"])
def test_closed_stdout_reader_kills_the_command_without_a_message(nacre: Nacre, life: Lifeline, command: str) -> None:
    with nacre.start("run", f"{life.hold} {command}") as program:
        life.wait_held()
        assert program.stdout is not None
        os.read(program.stdout.fileno(), 1)
        program.stdout.close()
        assert program.wait(HANG_TIMEOUT_S) == 141
        assert life.over
        assert program.stderr is not None
        assert program.stderr.read() == b""


@pytest.mark.parametrize(
    "words", [("--help",), ("run", "--help"), ("doctor",), ("run", "--json", "true"), ("run", "--json")]
)
def test_stdout_pipe_without_a_reader_exits_141_without_a_traceback(nacre: Nacre, words: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with nacre.start(*words, stdout=theirs) as program:
        os.close(theirs)
        assert finish(program) == Done(141)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_kills_the_command_and_is_reported(nacre: Nacre, life: Lifeline) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with nacre.start("run", f"{life.hold} yes", stdout=full) as program:
        os.close(full)
        done = finish(program)
    assert life.over
    assert done == Done(125, err=b"nacre: Cannot write the output: No space left on device.\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", [("--version",), ("doctor", "--json"), ("run", "--json", "true"), ("run", "--json")])
def test_full_disk_fails_commands_that_print_their_own_output(nacre: Nacre, words: tuple[str, ...]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with nacre.start(*words, stdout=full) as program:
        os.close(full)
        assert finish(program) == Done(125, err=b"nacre: Cannot write the output: No space left on device.\n")


def test_closed_stdout_is_an_error_only_when_it_is_written_to(nacre: Nacre) -> None:
    closing = ("sh", "-c", 'exec "$@" >&-', "sh")
    with nacre.start("run", "echo said >&2; exit 3", through=closing) as program:
        assert finish(program) == Done(3, err=b"said\n")
    with nacre.start("run", "echo lost; sleep 60", through=closing) as program:
        assert finish(program) == Done(125, err=b"nacre: Cannot write the output: Bad file descriptor.\n")


def test_message_of_nacre_starts_on_a_new_line(nacre: Nacre) -> None:
    assert nacre("run", "printf 'no newline' >&2; kill -9 $$").err == b"no newline\nnacre: ended by SIGKILL\n"


def test_process_name_on_stderr_contains_no_terminal_escapes(nacre: Nacre) -> None:
    done = nacre("run", r"(exec -a $'\e[31mred\a' sleep 60 &) >/dev/null 2>&1")
    assert done.code == 0
    assert b"left running" in done.err
    assert b"red" in done.err
    assert b"\x1b" not in done.err
    assert b"\a" not in done.err
