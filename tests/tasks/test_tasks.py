"""Tasks in the store: listed, looked up, and diagnosed when something is wrong with them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InvalidRequest, NoSuchTask
from nacre.keeper.protocol.task_dir import CONTROL, LIVE, LOG, PROCESS, STATUS, TASK
from nacre.result import Exited, Killed, Lost, Outcome, OverLimit, Process, Running, Signalled, TimedOut
from nacre.tasks.store.store import create
from nacre.tasks.store.task import Task
from nacre.tasks.tasks import Tasks
from tests.support.fake_keeper import boot_id, ended_task, facts, process_file, put, status_file
from tests.support.users import free_uid
from tests.tasks.conftest import Serve

ROOT = os.geteuid() == 0
OLD = 1_000_000_000.0


def age(path: str | Path) -> None:
    os.utime(path, (OLD, OLD))


@pytest.mark.req("M-06")
def test_running_task_is_listed_with_all_its_fields(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(command="make all", description="builds it", kind="promoted", timeout=5, stdin=True)
    keeper.prints(b"one\n")
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
    keeper.ends(outcome, running=[{"pid": 7, "pgid": 8, "command": "sleep"}], out_of_memory=True)
    keeper.dies()
    task = tasks.get(keeper.id)
    assert (task.state, task.outcome, task.exit_code, task.summary) == ("ended", outcome, code, summary)
    assert (task.duration, task.idle, task.out_of_memory) == (1.5, None, True)
    assert task.running == (Process(7, 8, "sleep"),)
    assert task.ended is not None
    assert json.loads(json.dumps(task.to_dict(), allow_nan=False))["outcome"]["kind"]
    assert tasks.list(all=False) == []


def test_a_task_whose_keeper_was_killed_is_lost(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.prints(b"half a line")
    keeper.dies()
    task = tasks.get(keeper.id)
    assert (task.state, task.outcome) == ("lost", Lost("its keeper was killed"))
    assert (task.bytes, task.ended, task.idle) == (11, None, None)
    assert tasks.output(keeper.id).data == b"half a line"
    os.unlink(f"{keeper.directory}/{CONTROL}")
    assert tasks.get(keeper.id) == task


@pytest.mark.skipif(not boot_id(), reason="nobody knows which boot this is")
def test_task_from_another_boot_is_lost(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    put(directory, PROCESS, process_file(boot="another"))
    assert tasks.get(name).outcome == Lost("the machine was restarted")


def test_task_without_a_process_file_is_starting_until_it_is_too_old(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    assert tasks.get(name).state == "running"
    assert tasks.get(name).pid is None
    age(f"{directory}/{TASK}")
    assert tasks.get(name).outcome == Lost("it never started")


def test_task_with_a_status_but_no_process_file_has_ended(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    put(directory, STATUS, status_file(Exited(1)))
    assert tasks.get(name).outcome == Exited(1)
    assert tasks.get(name).pid is None


def test_status_file_may_contain_the_process_ids(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    put(directory, STATUS, status_file(Exited(1), pid=12, pgid=13))
    task = tasks.get(name)
    assert (task.state, task.pid, task.pgid) == ("ended", 12, 13)


def test_directory_without_task_json_is_ignored_while_it_is_new(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    os.unlink(f"{directory}/{TASK}")
    assert tasks.list() == []
    with pytest.raises(NoSuchTask):
        tasks.get(name)
    age(directory)
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
        put(store / name, TASK, {"version": 1, "id": name, **facts()})
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


NESTED = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize("name", [TASK, STATUS, PROCESS])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not JSON"),
        (b'{"version": 1', "is not JSON"),
        (b"{} {}", "is not a JSON object"),
        (b"[]", "is not a JSON object"),
        (b"{}", "is not as nacre writes it"),
        (b"\xff\xfe", "is not JSON"),
        (b'{"version": NaN}', "is not JSON"),
        (b'{"version": ' + b"9" * 5000 + b"}", "is not JSON"),
        (NESTED, "is not JSON"),
        (b" " * 2_000_000, "is too large"),
    ],
)
def test_malformed_file_breaks_only_its_own_task(
    tasks: Tasks, store: Path, name: str, content: bytes, problem: str
) -> None:
    good, bad = ended_task(store, Exited(0)), ended_task(store, Exited(0))
    put(store / bad, name, content)
    assert {task.id: task.state for task in tasks.list()} == {good: "ended", bad: "broken"}
    task = tasks.get(bad)
    assert (task.outcome, task.problem, task.summary) == (None, f"{name} {problem}", f"{name} {problem}")
    with pytest.raises(InvalidRequest) as refusal:
        tasks.output(bad)
    assert refusal.value.code == "task_broken"


def refusal_of(tasks: Tasks, id: str, **options: Any) -> str:
    """Return the code of the error that reading it raises; empty if it can be read."""
    try:
        output = tasks.output(id, **options)
    except InvalidRequest as error:
        return error.code
    assert len(output.data) <= 100
    return ""


def _with(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    *above, last = path.split(".")
    inner = data
    for key in above:
        inner = inner[key]
    inner[last] = value
    return data


ODD: list[Any] = [None, True, -1, 10**30, 1e300, "x", [], {}, [[]], {"a": 1}]


@pytest.mark.parametrize(
    "field", ["id", "command", "created", "owner", "owner.pid", "owner.conversation", "timeout", "cap", "stdin", "cwd"]
)
def test_no_value_in_task_json_makes_listing_fail(tasks: Tasks, store: Path, field: str) -> None:
    for value in ODD:
        name, directory = create(str(store), facts())
        put(directory, TASK, _with({"version": 1, "id": name, **facts()}, field, value))
    assert len(tasks.list()) == len(ODD)
    for task in tasks.list():
        json.dumps(task.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "field",
    [
        "version",
        "outcome",
        "outcome.kind",
        "outcome.code",
        "outcome.more",
        "ended",
        "duration",
        "running",
        "log",
        "log.bytes",
        "log.pieces",
        "log.problem",
        "out_of_memory",
    ],
)
def test_no_value_in_status_json_makes_listing_or_reading_fail(tasks: Tasks, store: Path, field: str) -> None:
    for value in ODD:
        name = ended_task(store, Exited(0), b"text")
        put(store / name, STATUS, _with(status_file(Exited(0), log={"bytes": 4, "pieces": [[0, 4, 0]]}), field, value))
    assert len(tasks.list()) == len(ODD)
    for task in tasks.list():
        json.dumps(task.to_dict(), allow_nan=False)
        assert refusal_of(tasks, task.id) in ("", "task_broken")


@pytest.mark.parametrize(
    "pieces",
    [
        [[0, 4]],
        [[0, 4, -1]],
        [["0", 4, 0]],
        [None],
        [[0, 2**61, 0]],
        [[2**61, 4, 0]],
        [[0, 4, 10**9]],
        [[3, 4, 0], [0, 4, 0]],
        [[0, 4, 0]] * 1000,
    ],
)
def test_malformed_log_pieces_are_read_or_reported_as_broken(tasks: Tasks, store: Path, pieces: Any) -> None:
    name = ended_task(store, Exited(0), b"text")
    put(store / name, STATUS, status_file(Exited(0), log={"bytes": 4, "pieces": pieces}))
    for lines in (None, 2):
        assert refusal_of(tasks, name, lines=lines) in ("", "task_broken")


def test_task_of_a_newer_nacre_version_is_reported_as_such(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    put(directory, TASK, {"version": 2, "id": name})
    assert tasks.get(name).problem == "task.json was written by a newer nacre (version 2)"


@pytest.mark.parametrize("name", [TASK, STATUS, PROCESS, LOG])
def test_symlink_fifo_or_directory_in_place_of_a_task_file_is_not_read(tasks: Tasks, store: Path, name: str) -> None:
    elsewhere = store.parent / "elsewhere"
    for make in (lambda path: path.symlink_to(elsewhere), os.mkfifo, os.mkdir):
        id = ended_task(store, Exited(0), b"text")
        path = store / id / name
        path.rename(elsewhere)
        make(path)
        if name == LOG:
            assert tasks.output(id).data == b""
            assert tasks.output(id).dropped == 4
        else:
            assert tasks.get(id).state == "broken"


def test_control_path_that_is_not_a_socket_breaks_the_task(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(begin=False)
    Path(keeper.directory, CONTROL).symlink_to("/dev/null")
    assert tasks.get(keeper.id).problem == "control is not nacre's socket"


def test_task_directory_that_is_a_symlink_file_or_fifo_is_broken(tasks: Tasks, store: Path) -> None:
    name = ended_task(store, Exited(0))
    (store / "bash-00000001").symlink_to(store / name)
    (store / "bash-00000002").write_text("")
    os.mkfifo(store / "bash-00000003")
    states = {task.id: task.state for task in tasks.list()}
    assert states == {name: "ended", **{f"bash-0000000{n}": "broken" for n in (1, 2, 3)}}


def test_foreign_names_in_the_store_are_quoted_or_hidden(tasks: Tasks, store: Path) -> None:
    store.mkdir()
    for name in (".hidden", "\x1b[31mred", "bash-XYZ", "bash-0123456", os.fsdecode(b"\xff")):
        (store / name).mkdir()
    found = tasks.list()
    assert {task.state for task in found} == {"broken"}
    assert sorted(task.id for task in found) == ["'\\udcff'", "'\\x1b[31mred'", "'bash-0123456'", "'bash-XYZ'"]


@pytest.mark.skipif(not ROOT, reason="only root can give things away")
@pytest.mark.parametrize("name", ["", TASK, STATUS, CONTROL])
def test_task_file_of_another_user_breaks_the_task(tasks: Tasks, serve: Serve, name: str) -> None:
    keeper = serve()
    if name == STATUS:
        keeper.ends(Exited(0))
    uid = free_uid()
    os.chown(os.path.join(keeper.directory, name), uid, -1)
    task = tasks.get(keeper.id)
    assert task.state == "broken"
    assert str(uid) in task.problem or name == CONTROL


@pytest.mark.skipif(ROOT, reason="root may read everything")
@pytest.mark.parametrize("name", ["", TASK, STATUS])
def test_unreadable_task_file_is_reported_with_permission_denied(tasks: Tasks, store: Path, name: str) -> None:
    id = ended_task(store, Exited(0))
    path = store / id / name
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(0)
    try:
        assert tasks.get(id).problem.endswith("cannot be read: Permission denied")
    finally:
        path.chmod(mode)


def test_keeper_is_reached_through_a_very_long_store_path(tmp_path: Path) -> None:
    from tests.support.fake_keeper import FakeKeeper

    store = tmp_path / ("x" * 100) / ("y" * 100)
    with FakeKeeper(store) as keeper:
        keeper.prints(b"hello")
        assert Tasks(store).get(keeper.id).state == "running"
        assert Tasks(store).output(keeper.id).data == b"hello"


def test_keeper_with_a_full_connection_queue_counts_as_alive(tasks: Tasks, serve: Serve, store: Path) -> None:
    keeper = serve(begin=False)
    put(keeper.directory, PROCESS, process_file())
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

    def beaten(path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Simulate another program that creates the next directory first."""
        mkdir(path, mode, dir_fd=dir_fd)
        if path == str(tmp_path / "tasks"):
            mkdir(os.path.join(path, LIVE), 0o700)

    monkeypatch.setattr("os.mkdir", beaten)
    name, _ = create(str(tmp_path / "tasks"), facts())
    assert os.listdir(tmp_path / "tasks" / LIVE) == [name]
