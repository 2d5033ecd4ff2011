"""`nacre tasks`, `kill` and `clean`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.result import Killed
from nacre.tasks.tasks import Tasks
from tests.cli.nacre_program import Done, Nacre, background, finish, read_line, read_terminal, start_on_terminal
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, wait_until

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = ": '\x1b[2J\x1b]0;title\x07' \u202e\u200b\x9b\n" + "x" * 50_000


@pytest.mark.req("M-06")
def test_tasks_shows_id_state_bytes_pid_and_description(nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
    id = background(nacre, "--description", "a good deed", f"{gate.wait}; exit 7")
    (task,) = json.loads(nacre("tasks", "--json").out)["tasks"]
    assert (task["id"], task["description"], task["state"]) == (id, "a good deed", "running")
    assert (task["command"], task["pid"]) == (f"{gate.wait}; exit 7", tasks.get(id).pid)
    header, line = nacre("tasks").out.decode().splitlines()
    assert header.split() == ["ID", "STATE", "TIME", "QUIET", "BYTES", "PID", "COMMAND"]
    assert line.split()[:2] == [id, "running"]
    assert line.split()[4:] == ["0", str(task["pid"]), "a", "good", "deed"]
    gate.open()
    assert nacre("wait", id).code == 7
    (task,) = json.loads(nacre("tasks", "--all", "--json").out)["tasks"]
    assert (task["state"], task["exit_code"]) == ("ended", 7)
    assert nacre("tasks", "--all").out.decode().splitlines()[1].split()[:3] == [id, "exit", "7"]


def test_empty_task_list_is_a_message_and_exits_0(nacre: Nacre, tasks: Tasks) -> None:
    assert nacre("tasks") == Done(0, err=b"nacre: No task is running; `nacre tasks --all` lists the others.\n")
    assert nacre("tasks", "--all") == Done(0, err=f"nacre: There are no tasks in {tasks.directory}.\n".encode())
    assert json.loads(nacre("tasks", "--json").out) == {"directory": tasks.directory, "tasks": []}


def test_broken_task_directories_are_listed_with_the_reason(nacre: Nacre, tasks: Tasks) -> None:
    store = Path(tasks.directory)
    (store / "bash-deadbeef").mkdir(parents=True)
    (store / "bash-deadbeef" / "task.json").write_text("{")
    (store / "bash-0badcafe").symlink_to("/etc")
    (store / "not\x1b[2J\nours").mkdir()
    rows = sorted(" ".join(line.split()) for line in nacre("tasks", "--all").out.decode().splitlines()[1:])
    assert rows == [
        "'not\\x1b[2J\\nours' broken - - - - [its name is not a task id]",
        "bash-0badcafe broken - - - - [it is not a directory]",
        "bash-deadbeef broken - - - - [task.json is not JSON]",
    ]
    done = nacre("output", "bash-deadbeef")
    assert done.code == 125
    assert b"Cannot read bash-deadbeef: task.json is not JSON" in done.err


def test_control_characters_in_commands_are_escaped_in_the_task_table(nacre: Nacre, tasks: Tasks) -> None:
    background(nacre, "--yes", f"{HOSTILE}\nsleep 60")
    for columns in (60, 100):
        with start_on_terminal(nacre, "tasks", columns=columns) as (program, screen):
            lines = COLOUR.sub("", read_terminal(screen).decode()).split("\r\n")
            assert finish(program) == Done()
        assert all(len(line) <= columns and line.isprintable() for line in lines)
        assert ": '\\x1b[2J\\x1b]0;" in lines[2]
        assert len(lines) == 4
    for words in (["tasks"], ["tasks", "--json"]):
        text = nacre(*words).out.decode()
        assert text.rstrip("\n").replace("\n", "").isprintable()
        assert "\\u202e\\u200b" in text


def test_task_commands_take_another_directory(nacre: Nacre, tasks: Tasks, tmp_path: Path) -> None:
    place = str(tmp_path / "elsewhere")
    id = background(nacre, "--output-dir", place, "echo there; sleep 60")
    assert nacre("tasks").out == b""
    assert id.encode() in nacre("tasks", "--dir", place).out
    assert nacre("wait", id, "--dir", place, "--until", "text:there").code == 0
    assert nacre("output", id, "--dir", place).out == b"there\n"
    assert nacre("output", id).code == 125
    assert nacre("kill", id, "--dir", place).code == 0
    assert nacre("clean", "--older-than", "0", "--dir", place).out == f"{id}\n".encode()


class TestKill:
    def test_kill_ends_the_whole_process_tree_before_it_returns(
        self, nacre: Nacre, tasks: Tasks, life: Lifeline, other_life: Lifeline
    ) -> None:
        tree = "(setsid sleep 60 &); trap '' TERM; nohup sleep 60 >/dev/null 2>&1 & disown; while :; do sleep 60; done"
        first = background(nacre, f"{life.hold} {tree}")
        second = background(nacre, f"{other_life.hold} {tree}")
        life.wait_held()
        other_life.wait_held()
        done = nacre("kill", first, second[5:], "--grace", "0.2")
        assert life.over
        assert other_life.over
        assert (done.code, done.out) == (0, b"")
        lines = done.err.decode().splitlines()
        assert [line.split(":")[1].strip() for line in lines] == [first, second]
        assert all(": killed by " in line for line in lines)

    def test_kill_sends_the_chosen_signal_and_prints_json(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        id = background(nacre, f"trap 'echo tidy; exit' INT; echo begun; {gate.wait}")
        assert nacre("wait", id, "--until", "text:begun").code == 0
        done = nacre("kill", "--signal", "INT", "--json", id)
        answer = json.loads(done.out)
        assert (done.code, done.err, answer["survived"]) == (0, b"", [])
        outcome = tasks.get(id).outcome
        assert isinstance(outcome, Killed)
        assert outcome.signal == signal.SIGINT
        assert nacre("output", id).out == b"begun\ntidy\n"
        again = nacre("kill", id)
        assert again.code == 0
        assert b"; it had already ended\n" in again.err

    def test_kill_with_an_unknown_id_kills_nothing(self, nacre: Nacre, tasks: Tasks) -> None:
        id = background(nacre, "sleep 60")
        wrong = id[:-1] + ("0" if id[-1] != "0" else "1")
        done = nacre("kill", id, wrong)
        assert done == Done(125, err=f"nacre: No such task: '{wrong}'. Did you mean {id}?\n".encode())
        assert tasks.get(id).alive

    def test_kill_ends_processes_whose_keeper_died(self, nacre: Nacre, tasks: Tasks, life: Lifeline) -> None:
        id = background(nacre, f"{life.hold} sleep 60")
        life.wait_held()
        begun = json.loads((Path(tasks.directory) / id / "process.json").read_text())
        os.kill(begun["keeper"][0], signal.SIGKILL)
        wait_until(lambda: tasks.get(id).state == "lost", "its keeper's end")
        assert b"lost" in nacre("tasks", "--all").out
        assert nacre("kill", id).code == 0
        life.wait_over()


def test_clean_removes_ended_tasks_and_prints_their_ids(nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
    over, runs = background(nacre, gate.wait), background(nacre, "sleep 60")
    gate.open()
    assert nacre("wait", over).code == 0
    assert nacre("clean") == Done(0, err=b"nacre: 0 tasks removed, 0 bytes freed\n")
    done = nacre("clean", "--older-than", "12h", "--keep", "0")
    assert (done.code, done.out) == (0, f"{over}\n".encode())
    assert done.err.startswith(b"nacre: 1 task removed, ")
    assert [task.id for task in tasks.list()] == [runs]
    answer = json.loads(nacre("clean", "--keep-size", "0", "--json").out)
    assert answer == {"removed": [], "bytes": 0, "problems": []}


class TestWatch:
    def test_watch_updates_the_table_and_ctrl_c_restores_the_terminal(
        self, nacre: Nacre, tasks: Tasks, gate: Gate
    ) -> None:
        first = background(nacre, f"{gate.wait}; echo; exit 5")
        with start_on_terminal(nacre, "tasks", "--watch", "--all", columns=60) as (program, screen):
            assert b"\x1b[?25l" in read_terminal(screen, f"{first}  running".encode())
            gate.open()
            read_terminal(screen, f"{first}  exit 5".encode())
            os.kill(program.pid, signal.SIGINT)
            assert read_terminal(screen).endswith(b"\r\x1b[?25h\x1b[?7h\x1b[J")
            assert finish(program) == Done(130)

    def test_watch_on_a_small_terminal_shows_the_newest_tasks(self, nacre: Nacre, tasks: Tasks) -> None:
        ids = [background(nacre, "sleep 60") for _ in range(4)]
        with start_on_terminal(nacre, "tasks", "--watch", lines=5) as (program, screen):
            seen = read_terminal(screen, f"{ids[3]}  running".encode())
            assert "… 2 older".encode() in seen
            assert ids[2].encode() in seen
            assert ids[1].encode() not in seen
            os.kill(program.pid, signal.SIGTERM)
            assert read_terminal(screen).endswith(b"\x1b[?25h\x1b[?7h\x1b[J")
            assert finish(program) == Done(143)

    def test_watch_into_a_pipe_writes_only_changes(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        id = background(nacre, f"{gate.wait}; exit 5")
        with nacre.start("tasks", "--watch", "--all", "--json") as program:
            assert program.stdout is not None
            fd = program.stdout.fileno()
            (task,) = json.loads(read_line(fd))["tasks"]
            assert task["state"] == "running"
            gate.open()
            (task,) = json.loads(read_line(fd))["tasks"]
            assert (task["id"], task["exit_code"]) == (id, 5)
            program.stdout.close()
            assert program.wait(HANG_TIMEOUT_S) == 141


@pytest.mark.parametrize("words", [["tasks"], ["output", "bash-00000000"]])
def test_tasks_and_output_commands_load_no_heavy_modules(nacre: Nacre, words: list[str]) -> None:
    program = f"import sys; from nacre.cli import main; main({words!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=HANG_TIMEOUT_S, env=nacre.env)
    loaded = set(done.stdout.decode().split())
    assert "nacre.tasks.tasks" in loaded
    assert not loaded & {"argparse", "asyncio", "nacre.bash", "nacre.keeper.client.connection", "platformdirs"}
