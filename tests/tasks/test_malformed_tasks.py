"""Tasks in the store that are malformed, unreadable or foreign: each breaks only itself."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InvalidRequest
from nacre.keeper.protocol.task_dir import CONTROL, LOG, PROCESS, STATUS, TASK
from nacre.result import Exited
from nacre.tasks.store.store import create
from nacre.tasks.tasks import Tasks
from tests.support.fake_keeper import ended_task, facts, status_file, write_file
from tests.support.users import free_uid
from tests.tasks.conftest import Serve

ROOT = os.geteuid() == 0
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
    write_file(store / bad, name, content)
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
        write_file(directory, TASK, _with({"version": 1, "id": name, **facts()}, field, value))
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
        write_file(
            store / name, STATUS, _with(status_file(Exited(0), log={"bytes": 4, "pieces": [[0, 4, 0]]}), field, value)
        )
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
    write_file(store / name, STATUS, status_file(Exited(0), log={"bytes": 4, "pieces": pieces}))
    for lines in (None, 2):
        assert refusal_of(tasks, name, lines=lines) in ("", "task_broken")


def test_task_of_a_newer_nacre_version_is_reported_as_such(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    write_file(directory, TASK, {"version": 2, "id": name})
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


@pytest.mark.skipif(not ROOT, reason="only root can change the owner of a file")
@pytest.mark.parametrize("name", ["", TASK, STATUS, CONTROL])
def test_task_file_of_another_user_breaks_the_task(tasks: Tasks, serve: Serve, name: str) -> None:
    keeper = serve()
    if name == STATUS:
        keeper.end(Exited(0))
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
