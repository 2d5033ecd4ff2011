"""Cleaning the store: it removes ended tasks, and only those."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InvalidRequest
from nacre.keeper.protocol.procfs import RLIMIT_LOCKS
from nacre.keeper.protocol.task_dir import LIVE, LOG, PROCESS, STATUS, TASK
from nacre.result import Exited
from nacre.tasks.clean import Cleaned, auto_clean
from nacre.tasks.store.store import create
from nacre.tasks.tasks import Tasks
from tests.support.fake_keeper import ended_task, facts, process_file, start_of_process, status_file, write_file
from tests.support.users import free_uid
from tests.tasks.conftest import Serve

DAY = 24 * 3600.0


def ended_ago(store: Path, seconds: float, size: int = 0) -> str:
    name = ended_task(store, Exited(0), b"x" * size)
    write_file(store / name, STATUS, status_file(Exited(0), ended=time.time() - seconds))
    return name


def remaining_tasks(store: Path) -> set[str]:
    return set(os.listdir(store)) - {LIVE}


def test_clean_removes_old_tasks_and_keeps_new_ones(tasks: Tasks, store: Path) -> None:
    old, new = ended_ago(store, 8 * DAY, size=10_000), ended_ago(store, 6 * DAY)
    cleaned = tasks.clean()
    assert (cleaned.removed, cleaned.problems) == ((old,), ())
    assert cleaned.bytes >= 10_000
    assert remaining_tasks(store) == {new}
    assert tasks.clean() == Cleaned(removed=(), bytes=0, problems=())


def test_clean_removes_the_oldest_tasks_over_the_count_or_size_limit(tasks: Tasks, store: Path) -> None:
    names = [ended_ago(store, 100 - n, size=100_000) for n in range(6)]
    assert tasks.clean(keep=4).removed == tuple(names[:2])
    assert tasks.clean(keep_bytes=300_000).removed == tuple(names[2:4])
    assert tasks.clean(older_than=0).removed == tuple(names[4:])
    assert remaining_tasks(store) == set()


def test_clean_keeps_running_starting_broken_and_foreign_entries(tasks: Tasks, serve: Serve, store: Path) -> None:
    elsewhere = store.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("")
    running, starting = serve(), serve(begin=False)
    half, directory = create(str(store), facts())
    os.unlink(f"{directory}/{TASK}")
    broken = ended_ago(store, 100 * DAY)
    write_file(store / broken, TASK, b"{}")
    (store / "bash-00000001").symlink_to(elsewhere)
    (store / "notes").write_text("of mine")
    before = remaining_tasks(store)
    assert tasks.clean(older_than=0, keep=0, keep_bytes=0) == Cleaned(removed=(), bytes=0, problems=())
    assert remaining_tasks(store) == before == {running.id, starting.id, half, broken, "bash-00000001", "notes"}
    assert set(os.listdir(store / LIVE)) == {running.id, starting.id, half}
    os.utime(directory, (1e9, 1e9))  # no process is creating it any more
    assert tasks.clean().removed == (half,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a file")
def test_clean_keeps_tasks_of_another_user(tasks: Tasks, store: Path) -> None:
    name = ended_ago(store, 100 * DAY)
    os.chown(store / name, free_uid(), -1)
    assert tasks.clean(older_than=0).removed == ()
    assert remaining_tasks(store) == {name}


@pytest.mark.linux
def test_clean_removes_a_lost_task_once_its_processes_have_exited(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts(created=time.time() - 8 * DAY))
    tag = int.from_bytes(os.urandom(5), "big") | 1 << 41
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as process:
        resource.prlimit(process.pid, RLIMIT_LOCKS, (tag, resource.RLIM_INFINITY))
        write_file(
            directory, PROCESS, process_file(pid=process.pid, started=start_of_process(process.pid), tag=tag, pgid=0)
        )
        assert tasks.get(name).state == "lost"
        assert tasks.clean(older_than=0, keep=0).removed == ()
    assert tasks.clean(older_than=0, keep=0).removed == (name,)
    assert (remaining_tasks(store), os.listdir(store / LIVE)) == (set(), [])


def test_clean_removes_live_entries_of_ended_tasks(tasks: Tasks, serve: Serve, store: Path) -> None:
    running = serve()
    ended = ended_task(store, Exited(0))
    for name in (ended, "bash-00000009", "other"):
        (store / LIVE / name).write_text("")
    assert tasks.clean().removed == ()
    assert set(os.listdir(store / LIVE)) == {running.id, "other"}


def test_clean_finishes_a_removal_that_was_interrupted(tasks: Tasks, store: Path) -> None:
    name = ended_task(store, Exited(0))
    (store / name / TASK).unlink()
    (store / name).rename(store / f".removed-{name}")
    assert tasks.list() == []
    assert tasks.clean() == Cleaned(removed=(), bytes=0, problems=())
    assert remaining_tasks(store) == set()


def test_clean_removes_all_files_of_a_task_without_following_symlinks(tasks: Tasks, store: Path) -> None:
    name = ended_ago(store, 8 * DAY)
    precious = store.parent / "precious"
    precious.write_text("kept")
    inner = store / name / "tmp" / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "link").symlink_to(precious)
    os.mkfifo(inner / "pipe")
    inner.chmod(0)
    assert tasks.clean().removed == (name,)
    assert (remaining_tasks(store), precious.read_text()) == (set(), "kept")


def test_concurrent_cleans_remove_each_task_once(tasks: Tasks, store: Path) -> None:
    names = {ended_ago(store, 8 * DAY, size=10) for _ in range(60)}
    cleaned: list[Cleaned] = []
    sweepers = [threading.Thread(target=lambda: cleaned.append(tasks.clean())) for _ in range(4)]
    for sweeper in sweepers:
        sweeper.start()
    for sweeper in sweepers:
        sweeper.join()
    removed = [name for each in cleaned for name in each.removed]
    assert (sorted(removed), remaining_tasks(store)) == (sorted(names), set())
    assert [each.problems for each in cleaned] == [()] * 4


def test_reading_output_of_a_removed_task_raises_file_not_found(tasks: Tasks, store: Path) -> None:
    from nacre.tasks.handle import TaskHandle
    from nacre.tasks.store.log_reader import read_output

    name = ended_ago(store, 8 * DAY)
    with TaskHandle(str(store), name).open_directory() as folder:
        tasks.clean()
        with pytest.raises(FileNotFoundError):
            read_output(folder, 0, None, 100)
    assert not (store / name / LOG).exists()


@pytest.mark.parametrize(
    "options", [{"older_than": -1}, {"older_than": float("nan")}, {"keep": -1}, {"keep_bytes": "1"}]
)
def test_invalid_clean_limits_are_refused(tasks: Tasks, options: Any) -> None:
    with pytest.raises(InvalidRequest):
        tasks.clean(**options)


@pytest.mark.parametrize(("swept", "goes"), [(-60.0, False), (-2 * 3600.0, True), (300 * DAY, True)])
def test_auto_clean_runs_once_an_hour_and_when_the_clock_was_set_back(store: Path, swept: float, goes: bool) -> None:
    old, note = ended_ago(store, 8 * DAY), store / ".swept"
    note.touch()
    os.utime(note, (time.time() + swept,) * 2)
    auto_clean(str(store))
    assert remaining_tasks(store) == {".swept"} | (set() if goes else {old})


def test_clean_of_a_missing_store_removes_nothing(tasks: Tasks) -> None:
    assert tasks.clean() == Cleaned(removed=(), bytes=0, problems=())
