"""`nacre output` and `nacre wait`: the output of tasks, and their ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

import pytest

from nacre.tasks.tasks import Tasks
from tests.cli.nacre_program import Done, Nacre, background, finish, read, read_line, read_terminal, start_on_terminal
from tests.support.lifeline import Gate
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S

BYTES = bytes(range(256)) * 8000
SERVER = "import signal, socket; s = socket.create_server(('127.0.0.1', {}), reuse_port=True); signal.pause()"
"""A server that survives a connection: `wait` connects, and then checks that the task is alive."""


def run_task_to_end(nacre: Nacre, gate: Gate, command: str) -> str:
    """Run a task until it ends; return its id."""
    id = background(nacre, f"{gate.wait}; {command}")
    gate.open()
    nacre("wait", id)
    return id


class TestOutput:
    @pytest.mark.req("M-06")
    def test_output_prints_every_byte_unchanged(self, nacre: Nacre, tasks: Tasks) -> None:
        id = background(nacre, "--open-stdin", "cat")
        assert nacre("write", id, "-", "--close", stdin=BYTES) == Done()
        assert nacre("wait", id).code == 0
        done = nacre("output", id)
        assert (done.code, done.out == BYTES) == (0, True)
        assert done.err.decode().startswith(f"nacre: {id}: exit 0 after ")
        assert done.err.decode().endswith(f"; to read on: --since {len(BYTES)}\n")

    def test_output_starts_at_the_given_byte_or_line(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        id = run_task_to_end(nacre, gate, "seq 1000")
        assert nacre("output", id[5:], "--since", "3885").out == b"999\n1000\n"[1:]
        assert nacre("output", id, "--since=-5").out == b"1000\n"
        assert nacre("output", id, "--tail", "2").out == b"999\n1000\n"
        assert nacre("output", id, "--tail", "2", "--since=-3").out == b"00\n"
        assert nacre("output", id, "--tail", "0").out == b""
        beyond = nacre("output", id, "--since", "4000")
        assert beyond.code == 125
        assert b"only 3893 bytes have been printed" in beyond.err

    def test_output_json_is_one_object(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        id = run_task_to_end(nacre, gate, r"seq 10; printf '\377'; exit 4")
        done = nacre("output", id, "--tail", "2", "--json")
        answer = json.loads(done.out)
        assert (done.code, done.err) == (0, b"")
        assert answer.pop("task")["exit_code"] == 4
        assert answer == {"text": "10\n�", "start": 18, "cursor": 22, "dropped": 0, "skipped": 18, "more": False}

    def test_output_follow_prints_new_bytes_until_the_task_ends(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        id = background(nacre, f"echo first; {gate.wait}; printf sec; {gate.wait}; echo ond; exit 7")
        with nacre.start("output", "-f", id) as program:
            read(program, b"first\n")
            gate.open()
            read(program, b"sec")
            gate.open()
            done = finish(program)
        assert (done.code, done.out) == (0, b"ond\n")
        assert done.err.startswith(f"nacre: {id}: exit 7 after ".encode())
        assert nacre("output", "--follow", "--tail", "1", id).out == b"second\n"

    def test_output_follow_json_prints_one_object_per_line(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        id = background(nacre, f"echo first; {gate.wait}; echo second")
        with nacre.start("output", "-f", "--json", id) as program:
            assert program.stdout is not None
            assert json.loads(read_line(program.stdout.fileno()))["text"] == "first\n"
            gate.open()
            rest = [json.loads(line) for line in finish(program).out.splitlines()]
        assert "".join(each["text"] for each in rest) == "second\n"
        assert (rest[-1]["cursor"], rest[-1]["task"]["state"]) == (13, "ended")

    def test_ctrl_c_stops_output_follow_but_not_the_task(self, nacre: Nacre, tasks: Tasks) -> None:
        id = background(nacre, "echo first; sleep 60")
        with nacre.start("output", "-f", id) as program:
            read(program, b"first\n")
            os.killpg(program.pid, signal.SIGINT)
            done = finish(program)
        assert done.code == 130
        assert done.err.decode().startswith(f"nacre: {id} has been running for ")
        # 0: so early that it does not know yet how much was read
        assert done.err.decode().endswith(("; to read on: --since 6\n", "; to read on: --since 0\n"))
        assert tasks.get(id).alive

    def test_ctrl_c_stops_output_follow_when_its_stdout_is_not_read(
        self, nacre: Nacre, tasks: Tasks, gate: Gate
    ) -> None:
        id = run_task_to_end(nacre, gate, "head -c 3000000 /dev/zero")
        with nacre.start("output", "-f", id) as program:
            read(program, bytes(1000))
            os.killpg(program.pid, signal.SIGINT)
            assert program.wait(HANG_TIMEOUT_S) == 130

    def test_closed_reader_stops_output_follow_but_not_the_task(self, nacre: Nacre, tasks: Tasks) -> None:
        id = background(nacre, "echo first; sleep 60")
        with nacre.start("output", "-f", id) as program:
            read(program, b"first\n")
            assert program.stdout is not None
            program.stdout.close()
            assert program.wait(HANG_TIMEOUT_S) == 141
        assert tasks.get(id).alive

    def test_output_on_a_terminal_keeps_colours_and_escapes_other_sequences(
        self, nacre: Nacre, tasks: Tasks, gate: Gate
    ) -> None:
        text = r"\033[1;31mred\033[0m\t\033]0;title\007\033[2J\302\233\342\200\256\377\000\ndone"
        id = run_task_to_end(nacre, gate, f"printf '{text}'")
        with start_on_terminal(nacre, "output", id) as (program, screen):
            assert read_terminal(screen).decode() == (
                "\x1b[1;31mred\x1b[0m\t\\x1b]0;title\\x07\\x1b[2J\\x9b\\u202e\\xff\\x00\r\ndone\x1b[0m"
            )
            assert finish(program).code == 0
        assert nacre("output", id).out == (
            b"\x1b[1;31mred\x1b[0m\t\x1b]0;title\x07\x1b[2J\xc2\x9b\xe2\x80\xae\xff\0\ndone"
        )

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
    def test_output_follow_resets_the_colour_when_a_signal_ends_it(
        self, nacre: Nacre, tasks: Tasks, number: signal.Signals
    ) -> None:
        id = background(nacre, r"printf '\033[31mred\n'; sleep 60")
        with start_on_terminal(nacre, "output", "-f", id) as (program, screen):
            read_terminal(screen, until=b"\x1b[31mred\r\n")
            program.send_signal(number)
            assert read_terminal(screen) == b"\x1b[0m"
            assert program.wait(HANG_TIMEOUT_S) == -number

    def test_output_reports_dropped_bytes(self, nacre: Nacre, tasks: Tasks) -> None:
        id = background(nacre, "head -c 200M /dev/zero; echo; echo end")
        assert nacre("wait", id).code == 0
        done = nacre("output", id)
        task = tasks.get(id)
        assert task.dropped > 0
        assert len(done.out) == task.bytes - task.dropped
        assert done.out.endswith(b"\0\nend\n")
        assert f"nacre: {task.dropped:,} bytes before byte ".encode() in done.err


class TestWait:
    def test_wait_for_one_task_returns_its_exit_code(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        id = background(nacre, f"{gate.wait}; exit 7")
        with nacre.start("wait", id) as program:
            gate.open()
            done = finish(program)
        assert (done.code, done.out) == (7, b"")
        assert done.err.startswith(f"nacre: {id}: exit 7 after ".encode())
        assert nacre("wait", run_task_to_end(nacre, gate, "kill -9 $$")).code == 137

    def test_wait_for_several_tasks_exits_0_only_if_all_did(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        good, fine, bad = (run_task_to_end(nacre, gate, f"exit {code}") for code in (0, 0, 5))
        assert nacre("wait", good, fine).code == 0
        done = nacre("wait", good, bad)
        assert (done.code, done.err.count(b"\n")) == (1, 2)

    def test_wait_any_returns_when_the_first_task_ends(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        ids = [background(nacre, command) for command in ("sleep 60", gate.wait, "sleep 60")]
        gate.open()
        done = nacre("wait", "--any", "--json", *ids)
        answer = json.loads(done.out)
        assert (done.code, done.err) == (0, b"")
        assert (answer["met"], answer["ended"], answer["timed_out"]) == ([ids[1]], [], False)
        assert [task["state"] for task in answer["tasks"]] == ["running", "ended", "running"]

    def test_wait_timeout_exits_124_and_leaves_the_task_running(self, nacre: Nacre, tasks: Tasks) -> None:
        id = background(nacre, "sleep 60")
        done = nacre("wait", id, "--timeout", "100ms")
        assert done.code == 124
        assert done.err.decode().splitlines()[1] == "nacre: timed out after 0.1s"
        assert tasks.get(id).alive

    def test_wait_until_text_prints_the_matching_line(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        id = background(nacre, f"echo one; {gate.wait}; printf 'Listening on \\033[1m80\\033[0m'; {gate.wait}")
        with nacre.start("wait", id, "--until", r"text:on \d+") as program:
            gate.open()
            assert finish(program) == Done(0, err=f"nacre: {id} printed: Listening on 80\n".encode())
        gate.open()
        done = nacre("wait", id, "--until", "text:never")
        assert done.code == 1
        assert done.err.startswith(f"nacre: it ended first; {id}: exit 0 after ".encode())

    def test_wait_until_port_returns_when_it_accepts_connections(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        with socket.socket() as kept:  # so that no other process takes the port meanwhile
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            kept.bind(("127.0.0.1", 0))
            port = kept.getsockname()[1]
            id = background(nacre, f'{gate.wait}; exec {quote(sys.executable)} -c "{SERVER.format(port)}"')
            with nacre.start("wait", id, "--until", f"port:{port}") as program:
                gate.open()
                done = finish(program)
        assert done == Done(0, err=f"nacre: {id}: port {port} accepts connections\n".encode())

    def test_wait_until_quiet_returns_after_silence(self, nacre: Nacre, tasks: Tasks) -> None:
        id = background(nacre, "echo a word; sleep 60")
        done = nacre("wait", id, "--until", "quiet:0.3")
        assert done == Done(0, err=f"nacre: {id} has printed nothing for 0.3s\n".encode())

    def test_ctrl_c_stops_wait_but_not_the_task(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        id = background(nacre, f"{gate.wait}; echo told; sleep 60")
        with nacre.start("wait", id, "--until", "text:never") as program:
            gate.open()
            nacre("wait", id, "--until", "text:told")
            os.killpg(program.pid, signal.SIGINT)
            assert finish(program).code in (130, -signal.SIGINT)  # -2: so early that Python had no handler yet
        assert tasks.get(id).alive
