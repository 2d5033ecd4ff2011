"""`nacre run --background` and related options: tasks that outlive the program."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from nacre.result import Exited, Killed, Signalled, TimedOut
from nacre.tasks.tasks import Tasks
from tests.cli.nacre_program import ID, Done, Nacre, background
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import TIME_LIMITS_S, wait_until


@pytest.mark.req("M-05")
def test_background_run_prints_only_the_id_and_saves_both_streams(nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
    done = nacre("run", "--background", f"echo out; {gate.wait}; echo err >&2; exit 7")
    found = ID.fullmatch(done.out)
    assert found is not None
    task = tasks.get(found[1].decode())
    assert task.alive
    said = f"nacre: {task.id} is running (process {task.pid}); its output is in {task.output_file}\n"
    assert (done.code, done.err.decode()) == (0, said)
    gate.open()
    assert tasks.wait_sync(task.id).tasks[0].outcome == Exited(7)
    assert Path(task.output_file).read_bytes().startswith(b"out\nerr\n")


@pytest.mark.req("P-003")
def test_background_run_reports_pgid_and_file_and_records_an_outside_kill(
    nacre: Nacre, tasks: Tasks, life: Lifeline
) -> None:
    done = nacre("run", "--background", "--json", f"{life.hold} echo begun; sleep 60 & sleep 60")
    assert (done.code, done.err) == (0, b"")
    result = json.loads(done.out)
    task = result["task"]
    assert result["outcome"] == {"kind": "running", "task": task["id"], "promoted": False}
    assert Path(task["output_file"]).exists()
    assert os.getpgid(task["pid"]) == task["pgid"]
    life.wait_held()
    assert nacre("wait", task["id"], "--until", "text:begun").code == 0
    os.killpg(task["pgid"], signal.SIGKILL)
    assert nacre("wait", task["id"]).code == 137
    assert life.over
    assert tasks.get(task["id"]).outcome == Signalled(signal.SIGKILL)
    lines = Path(task["output_file"]).read_text().splitlines()
    assert lines[0] == "begun"
    assert re.fullmatch(r"\[nacre: ended by SIGKILL after \S+ s\]", lines[1])


@pytest.mark.linux
def test_background_command_that_fails_at_once_is_reported_at_once(nacre: Nacre, tasks: Tasks) -> None:
    done = nacre("run", "--background", "echo too soon; exit 3")
    (task,) = tasks.list()
    said = f"too soon\nnacre: {task.id} ended at once: exit 3; its output is in {task.output_file}\n"
    assert (done.code, done.out.decode(), done.err.decode()) == (3, f"{task.id}\n", said)


def test_refused_background_command_creates_no_task(nacre: Nacre, tasks: Tasks) -> None:
    done = nacre("run", "--background", "git push -f")
    assert (done.code, done.out) == (126, b"")
    assert tasks.list() == []


def test_timeout_option_limits_the_background_task(nacre: Nacre, tasks: Tasks) -> None:
    id = background(nacre, "--timeout", "0.3", "sleep 60")
    assert nacre("wait", id).code == 124
    assert tasks.get(id).outcome == TimedOut(0.3)


def test_background_task_survives_a_kill_of_the_group_that_started_it(nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
    words = ("run", "--background", f"{gate.wait}; echo done")
    with nacre.start(*words, through=("sh", "-c", '"$@"; read -r _', "sh")) as starter:
        wait_until(lambda: [task for task in tasks.list() if task.pid], "a task")
        assert starter.stdout is not None
        id = os.read(starter.stdout.fileno(), 100).decode().strip()
        os.killpg(starter.pid, signal.SIGKILL)
    gate.open()
    assert nacre("wait", id).code == 0
    assert nacre("output", id).out == b"done\n"


def test_write_sends_to_the_stdin_of_a_task_and_closes_it(nacre: Nacre, tasks: Tasks) -> None:
    id = background(nacre, "--open-stdin", "cat; echo end")
    assert nacre("write", id, "one\n") == Done()
    assert nacre("write", id, "-", stdin=b"t\xffo\0\n") == Done()
    assert nacre("write", id, "--", "-three\n") == Done()
    assert nacre("write", id, "--close") == Done()
    assert nacre("wait", id).code == 0
    assert nacre("output", id).out == b"one\nt\xffo\0\n-three\nend\n"
    late = nacre("write", id, "late")
    assert late.code == 125
    assert late.err.decode().startswith(f"nacre: {id} is no longer running: exit 0. ")


def test_write_to_a_task_without_open_stdin_fails(nacre: Nacre, tasks: Tasks) -> None:
    done = nacre("write", background(nacre, "sleep 60"), "text")
    assert done.code == 125
    assert b"Cannot write to" in done.err


def yield_after_first(nacre: Nacre, tasks: Tasks, *words: str) -> Done:
    """Run a command that prints `first`, with the first of `TIME_LIMITS_S` that leaves it the time to."""
    for limit in TIME_LIMITS_S:
        done = nacre("run", "--yield-after", str(limit), *words)
        if b"first\n" in done.out.replace(b"\\n", b"\n"):  # JSON has the escape
            break
        for task in tasks.list(all=False):
            tasks.kill_sync(task.id, signal="KILL", grace=0)
    return done


class TestYielding:
    """`--yield-after`."""

    def test_yield_after_promotes_a_running_command_and_exits_75(self, nacre: Nacre, tasks: Tasks, gate: Gate) -> None:
        done = yield_after_first(nacre, tasks, f"echo first; {gate.wait}; echo second; exit 7")
        (task,) = tasks.list(all=False)
        assert (done.code, done.out) == (75, b"first\n")
        assert done.err.decode() == (
            f"nacre: It keeps running as task {task.id}; its output is in {task.output_file}.\n"
        )
        gate.open()
        assert nacre("wait", task.id).code == 7
        assert nacre("output", task.id).out == b"first\nsecond\n"

    def test_yield_after_creates_no_task_for_a_command_that_exits_in_time(self, nacre: Nacre, tasks: Tasks) -> None:
        assert nacre("run", "--yield-after", "60", "echo quick; exit 3") == Done(3, b"quick\n")
        assert tasks.list() == []

    def test_yield_after_json_result_has_the_task(self, nacre: Nacre, tasks: Tasks) -> None:
        done = yield_after_first(nacre, tasks, "--json", "echo first; sleep 60")
        result = json.loads(done.out)
        assert (done.code, done.err) == (75, b"")
        assert (result["stdout"], result["outcome"]["promoted"]) == ("first\n", True)
        assert tasks.get(result["task"]["id"]).alive

    @pytest.mark.linux
    def test_yield_after_kills_leftovers_of_an_exited_command_and_says_so(
        self, nacre: Nacre, tasks: Tasks, life: Lifeline
    ) -> None:
        done = nacre("run", "--yield-after", "60", f"{life.hold} sleep 60 & echo done")
        assert (done.code, done.out) == (0, b"done\n")
        (task,) = tasks.list()
        assert done.err.decode().endswith(
            f"nacre: {task.id} is killed now, as nacre exits; --detach keeps it running\n"
        )
        life.wait_over()
        assert isinstance(tasks.wait_sync(task.id).tasks[0].outcome, Killed)


def test_detach_keeps_leftovers_as_a_task(nacre: Nacre, tasks: Tasks, life: Lifeline) -> None:
    done = nacre("run", "--detach", f"{life.hold} sleep 60 & echo started")
    assert (done.code, done.out) == (0, b"started\n")
    (task,) = tasks.list(all=False)
    assert task.id in done.err.decode()
    assert not life.over
    assert nacre("kill", task.id).code == 0
    assert life.over


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--background", "--yield-after", "3", "ls"], "--yield-after has no effect with --background"),
        (["run", "--background", "--detach", "ls"], "--detach has no effect with --background"),
        (["run", "--open-stdin", "ls"], "--open-stdin needs --background"),
        (["run", "--background", "--open-stdin", "--stdin", "x", "cat"], "exclude each other"),
        (["run", "--yield-after", "5m", "ls"], "Invalid value for --yield-after: '5m'. Write 300."),
        (["run", "--yield-after", "0", "ls"], "`yield_after` is 0.0."),
        (["run", "--backgroud", "ls"], "Did you mean: --background"),
        (["output"], "nacre output needs the id of a task. `nacre tasks` lists them."),
        (["output", "a", "b"], "nacre output does not take 'b'. Try: nacre output --help"),
        (["output", "nonesuch"], "No such task: 'nonesuch'. There are no tasks in "),
        (["output", "--since", "soon", "bash-00000000"], "Invalid value for --since: 'soon'. Give an integer."),
        (["output", "../../etc"], "No such task: '../../etc'."),
        (["tasks", "bash-00000000"], "nacre tasks does not take 'bash-00000000'."),
        (["tasks", "--al"], "Unknown option: --al. Did you mean: --all"),
        (["wait", "0000", "--until", "rain"], "Write exit, text:REGEX, port:[HOST:]N or quiet:SECONDS."),
        (["wait", "0000", "--until", "port:x"], "Invalid value for --until: 'port:x'."),
        (["wait", "0000", "--until", "port:99999"], "Port(number=99999"),
        (["wait", "0000", "--until", "text:("], "is not a valid regular expression"),
        (
            ["wait", "0000", "--timeout", "soon"],
            "Invalid value for --timeout: 'soon'. Write seconds, or 30s, 5m, 12h, 7d.",
        ),
        (["kill", "0000", "--signal", "LOUD"], "`signal` is 'LOUD'. Use a name (TERM, INT, KILL) or its number."),
        (["kill", "0000", "--sginal", "9"], "Unknown option: --sginal. Did you mean: --signal"),
        (["write", "0000"], "There is nothing to write."),
        (
            ["clean", "--older-than", "old"],
            "Invalid value for --older-than: 'old'. Write seconds, or 30s, 5m, 12h, 7d.",
        ),
        (["clean", "--keep-size", "much"], "Invalid value for --keep-size: 'much'."),
        (["clean", "--keep", "-1"], "`keep` is -1."),
        (["tasks", "--dir", "/dev/null"], "Cannot read tasks in '/dev/null': Not a directory."),
        (["kill", "0000", "--dir", "/dev/null"], "Cannot read tasks in '/dev/null': Not a directory."),
        (["taks"], "Unknown command 'taks'. Did you mean: nacre tasks"),
    ],
)
def test_usage_errors_about_tasks_exit_125_and_name_the_fix(nacre: Nacre, words: list[str], said: str) -> None:
    done = nacre(*words)
    assert (done.code, done.out) == (125, b"")
    assert done.err.startswith(b"nacre: ")
    assert done.err.count(b"\n") == 1
    assert said in done.err.decode()


@pytest.mark.parametrize("name", ["tasks", "output", "wait", "kill", "write", "clean"])
def test_help_of_task_commands_lists_exit_codes(nacre: Nacre, name: str) -> None:
    done = nacre(name, "--help")
    assert (done.code, done.err) == (0, b"")
    assert done.out.startswith(f"usage: nacre {name} ".encode())
    assert b"\nexit codes" in done.out
    assert f"\n       nacre {name} ".encode() in nacre("--help").out
