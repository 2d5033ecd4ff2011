"""Ctrl-C and other signals kill everything that the command has started."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios

import pytest

from tests.cli.nacre_program import Done, Nacre, Program, finish, read_line
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, wait_until

TREE = "(setsid sleep 60 &); (setsid sleep 60 </dev/null >/dev/null 2>&1 &); sleep 60 & sleep 60"
DAEMON = "(env -i setsid sleep 60 </dev/null >/dev/null 2>&1 &); sleep 60"
STUBBORN = (
    "trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; while :; do sleep 60; done' &); while :; do sleep 60; done"
)


def press_ctrl_c(program: Program) -> None:
    os.killpg(program.pid, signal.SIGINT)


@pytest.mark.req("K-07")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(TREE, id="tree"),
        pytest.param(STUBBORN, id="stubborn"),
        pytest.param(DAEMON, id="daemon", marks=pytest.mark.linux),
    ],
)
def test_signal_kills_the_whole_process_tree_before_nacre_exits(
    nacre: Nacre, life: Lifeline, number: int, code: int, command: str
) -> None:
    with nacre.start("run", f"{life.hold} {command}") as program:
        life.wait_held()
        os.killpg(program.pid, number)
        assert finish(program).code == code
        assert life.over


def test_output_of_a_command_being_killed_is_passed_on(nacre: Nacre, life: Lifeline) -> None:
    with nacre.start("run", f"trap 'echo cleaned up; exit 3' TERM; {life.hold} sleep 60 & wait") as program:
        life.wait_held()
        press_ctrl_c(program)
        assert finish(program) == Done(130, b"cleaned up\n")


def test_repeated_ctrl_c_exits_without_waiting_for_the_process_tree(nacre: Nacre, life: Lifeline) -> None:
    with nacre.start("run", f"trap '' TERM; {life.hold} while :; do sleep 60; done") as program:
        life.wait_held()
        press_ctrl_c(program)
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(0.3)

        def give_up() -> bool:
            press_ctrl_c(program)
            return program.poll() is not None

        wait_until(give_up, "the end of nacre")
        assert program.returncode == 130
        life.wait_over()


def test_ctrl_c_works_with_a_stopped_keeper(nacre: Nacre, life: Lifeline) -> None:
    with nacre.start("run", f"{life.hold} echo $PPID; {TREE}") as program:
        assert program.stdout is not None
        os.kill(int(read_line(program.stdout.fileno())), signal.SIGSTOP)
        press_ctrl_c(program)
        assert finish(program).code == 130
        life.wait_over()


@pytest.mark.parametrize("command", ["yes", "while :; do echo some words; done"])
def test_ctrl_c_works_when_the_output_is_not_read(nacre: Nacre, life: Lifeline, command: str) -> None:
    with nacre.start("run", f"{life.hold} {command}") as program:
        life.wait_held()
        press_ctrl_c(program)
        wait_until(lambda: program.poll() is not None, "the end of nacre")
        assert program.returncode == 130
        assert life.over


def test_sighup_ignored_at_startup_stays_ignored(nacre: Nacre, life: Lifeline, gate: Gate) -> None:
    through = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    with nacre.start("run", f"{life.hold} {gate.wait}; echo done", through=through) as program:
        life.wait_held()
        os.killpg(program.pid, signal.SIGHUP)
        gate.open()
        assert finish(program) == Done(0, b"done\n")


@pytest.mark.req("K-07")
def test_killed_nacre_leaves_no_process_alive(nacre: Nacre, life: Lifeline) -> None:
    with nacre.start("run", f"{life.hold} {TREE}") as program:
        life.wait_held()
        program.kill()
        life.wait_over()


def test_ctrl_c_with_json_prints_a_cancelled_result(nacre: Nacre, life: Lifeline) -> None:
    with nacre.start("run", "--json", f"echo partial; {life.hold} {TREE}") as program:
        life.wait_held()
        press_ctrl_c(program)
        done = finish(program)
    result = json.loads(done.out)
    assert (done.code, done.err) == (130, b"")
    assert (result["outcome"], result["stdout"], result["running"]) == ({"kind": "cancelled"}, "partial\n", [])


def test_ctrl_c_while_reading_stdin_prints_nothing(nacre: Nacre) -> None:
    with nacre.start("run", "--stdin", "-", "cat") as program:
        assert program.stdin is not None
        program.stdin.write(b"some")
        program.stdin.flush()
        pipe = program.stdin.fileno()
        wait_until(lambda: unread_bytes(pipe) == 0, "nacre to read stdin")
        press_ctrl_c(program)
        assert program.wait(HANG_TIMEOUT_S) == 130
        assert program.stderr is not None
        assert program.stderr.read() == b""


def unread_bytes(pipe: int) -> int:
    """Return how many bytes in the pipe are unread."""
    count = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)
