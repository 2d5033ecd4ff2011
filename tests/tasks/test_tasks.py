"""Tasks in the store: listed, looked up, and diagnosed when something is wrong with them."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import NoSuchTask
from nacre.keeper.protocol.task_dir import CONTROL, LIVE, LOG, PROCESS, STATUS, TASK
from nacre.result import Exited, Killed, Lost, Outcome, OverLimit, Process, Running, Signalled, TimedOut
from nacre.tasks.store.store import create
from nacre.tasks.store.task import Task
from nacre.tasks.tasks import Tasks
from tests.support.fake_keeper import boot_id, ended_task, facts, process_file, status_file, write_file
from tests.tasks.conftest import Serve

OLD = 1_000_000_000.0


def make_old(path: str | Path) -> None:
    os.utime(path, (OLD, OLD))


@pytest.mark.req("M-06")
def test_running_task_is_listed_with_all_its_fields(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(command="make all", description="builds it", kind="promoted", timeout=5, stdin=True)
    keeper.print_output(b"one\n")
    (task,) = tasks.list()
    assert task == Task(
        id=keeper.id,
        directory=keeper.directory,
        state="running",
        outcome=Running(keeper.id, promoted=True),
        kind="promoted",
        command="make all",
        description="builds it",
        cwd="/tmp",
        pid=os.getpid(),
        pgid=os.getpid(),
        output_file=f"{keeper.directory}/{LOG}",
        bytes=4,
        created=task.created,
        duration=task.duration,
        idle=task.idle,
        owner_pid=os.getpid(),
        conversation="talk",
        access="unrestricted",
        timeout=5.0,
        detached=True,
        stdin=True,
    )
    assert task.alive
    assert task.idle is not None
    assert task.idle <= task.duration + 1
    assert task.exit_code is None
    assert [each.id for each in tasks.list(all=False)] == [keeper.id]


@pytest.mark.req("M-06")
@pytest.mark.parametrize(
    ("outcome", "code", "summary"),
    [
        (Exited(0), 0, "exit 0"),
        (Exited(3), 3, "exit 3"),
        (Signalled(9), None, "ended by SIGKILL"),
        (TimedOut(2.5), None, "timed out after 2.5 s"),
        (Killed("the model", 15), None, "killed by the model"),
        (OverLimit("processes", 5, 6.0), None, "over its limit of 5 processes: it used 6 processes"),
    ],
)
def test_ended_task_reports_its_outcome(
    tasks: Tasks, serve: Serve, outcome: Outcome, code: int | None, summary: str
) -> None:
    keeper = serve()
    keeper.end(outcome, running=[{"pid": 7, "pgid": 8, "command": "sleep"}], out_of_memory=True)
    keeper.die()
    task = tasks.get(keeper.id)
    assert (task.state, task.outcome, task.exit_code, task.summary) == ("ended", outcome, code, summary)
    assert (task.duration, task.idle, task.out_of_memory) == (1.5, None, True)
    assert task.running == (Process(7, 8, "sleep"),)
    assert task.ended is not None
    assert json.loads(json.dumps(task.to_dict(), allow_nan=False))["outcome"]["kind"]
    assert tasks.list(all=False) == []


def test_a_task_whose_keeper_was_killed_is_lost(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.print_output(b"half a line")
    keeper.die()
    task = tasks.get(keeper.id)
    assert (task.state, task.outcome) == ("lost", Lost("its keeper was killed"))
    assert (task.bytes, task.ended, task.idle) == (11, None, None)
    assert tasks.output(keeper.id).data == b"half a line"
    os.unlink(f"{keeper.directory}/{CONTROL}")
    assert tasks.get(keeper.id) == task


@pytest.mark.skipif(not boot_id(), reason="this system has no boot id")
def test_task_from_another_boot_is_lost(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    write_file(directory, PROCESS, process_file(boot="another"))
    assert tasks.get(name).outcome == Lost("the machine was restarted")


def test_task_without_a_process_file_is_starting_until_it_is_too_old(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    assert tasks.get(name).state == "running"
    assert tasks.get(name).pid is None
    make_old(f"{directory}/{TASK}")
    assert tasks.get(name).outcome == Lost("it never started")


def test_task_with_a_status_but_no_process_file_has_ended(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    write_file(directory, STATUS, status_file(Exited(1)))
    assert tasks.get(name).outcome == Exited(1)
    assert tasks.get(name).pid is None


def test_status_file_may_contain_the_process_ids(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    write_file(directory, STATUS, status_file(Exited(1), pid=12, pgid=13))
    task = tasks.get(name)
    assert (task.state, task.pid, task.pgid) == ("ended", 12, 13)


def test_directory_without_task_json_is_ignored_while_it_is_new(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    os.unlink(f"{directory}/{TASK}")
    assert tasks.list() == []
    with pytest.raises(NoSuchTask):
        tasks.get(name)
    make_old(directory)
    assert tasks.get(name).problem == "it has no task.json"


def test_missing_store_has_no_tasks(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path / "none")
    assert tasks.list() == tasks.list(all=False) == []
    with pytest.raises(NoSuchTask, match="There are no tasks"):
        tasks.get("bash-00000000")


def test_tasks_are_listed_oldest_first(tasks: Tasks, store: Path) -> None:
    names = [ended_task(store, Exited(0), created=float(when)) for when in (300, 100, 200)]
    assert [task.id for task in tasks.list()] == [names[1], names[2], names[0]]


def test_running_tasks_are_found_without_their_entries_in_live(tasks: Tasks, serve: Serve, store: Path) -> None:
    keeper = serve()
    ended_task(store, Exited(0))
    shutil.rmtree(store / LIVE)
    assert [task.id for task in tasks.list(all=False)] == [keeper.id]


@pytest.mark.req("M-06")
def test_unambiguous_prefix_of_a_task_id_is_accepted(tasks: Tasks, store: Path) -> None:
    for name in ("bash-12345678", "bash-12349999"):
        made, directory = create(str(store), facts())
        os.rename(directory, store / name)
        write_file(store / name, TASK, {"version": 1, "id": name, **facts()})
        (store / LIVE / made).rename(store / LIVE / name)
    for id in ("bash-12345678", "12345678", "bash-12345", "12345"):
        assert tasks.get(id).id == "bash-12345678"
    with pytest.raises(NoSuchTask, match="Use one of: bash-12345678, bash-12349999") as ambiguous:
        tasks.get("1234")
    assert ambiguous.value.code == "no_such_task"
    with pytest.raises(NoSuchTask, match="Did you mean bash-12345678"):
        tasks.get("bash-12345670")
    with pytest.raises(NoSuchTask, match="Running: bash-12345678, bash-12349999"):
        tasks.get("bash-fedcfedc")


@pytest.mark.parametrize(
    "id", ["", "123", "bash-", "../x", "bash-../../etc", ".live", "bash-1234/..", "BASH-12345678", "bash-12345678\n", 7]
)
def test_invalid_task_id_raises_no_such_task(tasks: Tasks, store: Path, id: Any) -> None:
    ended_task(store, Exited(0))
    with pytest.raises(NoSuchTask):
        tasks.get(id)


def test_keeper_is_reached_through_a_very_long_store_path(tmp_path: Path) -> None:
    from tests.support.fake_keeper import FakeKeeper

    store = tmp_path / ("x" * 100) / ("y" * 100)
    with FakeKeeper(store) as keeper:
        keeper.print_output(b"hello")
        assert Tasks(store).get(keeper.id).state == "running"
        assert Tasks(store).output(keeper.id).data == b"hello"


def test_keeper_with_a_full_connection_queue_counts_as_alive(tasks: Tasks, serve: Serve, store: Path) -> None:
    keeper = serve(begin=False)
    write_file(keeper.directory, PROCESS, process_file())
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    callers = []
    fd = os.open(keeper.directory, os.O_RDONLY)
    try:
        listener.bind(f"/proc/self/fd/{fd}/{CONTROL}")
        listener.listen(0)
        for _ in range(3):
            callers.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            callers[-1].setblocking(False)
            try:
                callers[-1].connect(f"/proc/self/fd/{fd}/{CONTROL}")
            except BlockingIOError:
                break
        assert tasks.get(keeper.id).state == "running"
    finally:
        os.close(fd)
        for each in (listener, *callers):
            each.close()


def test_task_directories_may_vanish_while_they_are_listed(tasks: Tasks, store: Path) -> None:
    import threading

    for _ in range(200):
        ended_task(store, Exited(0), b"text")
    names = [task.id for task in tasks.list()]

    def remove() -> None:
        for name in names:
            shutil.rmtree(store / name)

    remover = threading.Thread(target=remove)
    remover.start()
    while remover.is_alive():
        assert {task.id for task in tasks.list()} <= set(names)  # whatever state its files were in by then
    remover.join()
    assert tasks.list() == []


def test_importing_nacre_does_not_load_tasks() -> None:
    import subprocess
    import sys

    text = "import nacre, sys; nacre.Bash; sys.exit('nacre.tasks.tasks' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == 0


def test_two_programs_can_create_the_store_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = os.mkdir

    def mkdir_after_rival(path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Simulate another program that creates the next directory first."""
        mkdir(path, mode, dir_fd=dir_fd)
        if path == str(tmp_path / "tasks"):
            mkdir(os.path.join(path, LIVE), 0o700)

    monkeypatch.setattr("os.mkdir", mkdir_after_rival)
    name, _ = create(str(tmp_path / "tasks"), facts())
    assert os.listdir(tmp_path / "tasks" / LIVE) == [name]
