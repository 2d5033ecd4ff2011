"""Attempts to make nacre kill, write or read through forged tasks, and to reach what nacre stores."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre import AccessUnavailable, Bash, InvalidRequest, Limits, Request, Tasks, ToolContext
from nacre.base.frozen import replace
from nacre.keeper.protocol.bootstrap import SHELL_MARKER
from nacre.keeper.protocol.procfs import RLIMIT_LOCKS
from nacre.keeper.protocol.task_dir import CONTROL, PROCESS
from nacre.result import Exited
from nacre.sandbox.probe import kernel, with_user_namespace
from nacre.tasks.store.directory import TaskDirectory, open_store
from nacre.tasks.store.store import create
from nacre.toolcall.task_tools import call
from tests.escapes.inside import needs_landlock
from tests.support.census import is_alive
from tests.support.fake_keeper import ended_task, facts, process_file, start_of_process, write_file
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008")]
SHELL = f"{SHELL_MARKER} _ </dev/null; echo; while :; do sleep 1000; done"
LOCKS_OF_A_USER = 1024


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a program of the user, with a limit on file locks as an administrator may set it."""
    yield from start_process("echo; exec sleep 1000", LOCKS_OF_A_USER)


@pytest.fixture
def shell() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a shell of nacre that has shed its tag."""
    yield from start_process(SHELL)


def start_process(text: str, locks: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["bash", "-c", text], start_new_session=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        if locks:
            resource.prlimit(process.pid, RLIMIT_LOCKS, (locks, resource.prlimit(process.pid, RLIMIT_LOCKS)[1]))
        process.stdout.readline()
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def forge_task(store: Path, process: subprocess.Popen[bytes], **changes: Any) -> str:
    """Create a task without a keeper that claims this process as its own; return its id."""
    name, directory = create(str(store), facts())
    ids = {"pid": process.pid, "pgid": process.pid, "started": start_of_process(process.pid)}
    write_file(directory, PROCESS, process_file(**{**ids, **changes}))
    return name


FORGERIES = {
    "process": {},
    "tag-of-no-run": {"tag": 1 << 41},
    "limit-of-a-user": {"tag": LOCKS_OF_A_USER},
    "only-the-limit": {"tag": LOCKS_OF_A_USER, "pid": 1, "pgid": 1, "started": 0},
    "only-the-group": {"pid": 1, "started": 0},
}


@pytest.mark.parametrize("changes", FORGERIES.values(), ids=FORGERIES)
async def test_forged_task_kills_no_other_process(
    tmp_path: Path, victim: subprocess.Popen[bytes], changes: dict[str, Any]
) -> None:
    name = forge_task(tmp_path, victim, **changes)
    answer = await asyncio.wait_for(call("KillShell", {"shell_id": name}, Tasks(tmp_path)), HANG_TIMEOUT_S)
    assert is_alive(victim.pid), answer
    assert Tasks(tmp_path).get(name).state == "lost"


async def test_forged_process_group_is_not_killed_with_the_shell(
    tmp_path: Path, victim: subprocess.Popen[bytes], shell: subprocess.Popen[bytes]
) -> None:
    name = forge_task(tmp_path, shell, pgid=victim.pid)
    await asyncio.wait_for(Tasks(tmp_path).kill(name, grace=0), HANG_TIMEOUT_S)
    assert shell.wait(HANG_TIMEOUT_S) == -signal.SIGKILL, (
        "its start time and its command line are right, so it is killed"
    )
    assert is_alive(victim.pid)


async def test_forged_keeper_gets_no_sigcont(tmp_path: Path, victim: subprocess.Popen[bytes]) -> None:
    os.kill(victim.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, victim.pid, os.WSTOPPED)
    name = forge_task(tmp_path, victim, keeper=[victim.pid, start_of_process(victim.pid)])
    await asyncio.wait_for(Tasks(tmp_path).kill(name, grace=0), HANG_TIMEOUT_S)
    assert Path(f"/proc/{victim.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_task_store_that_is_a_symlink_is_refused(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    name = ended_task(real, Exited(0))
    assert Tasks(real).get(name).id == name
    link.symlink_to(real)
    for look in (Tasks(link).list, Tasks(link).clean, lambda: Tasks(link).get(name)):
        with pytest.raises(InvalidRequest, match="it is a symlink") as caught:
            look()
        assert caught.value.code == "bad_store"
    with pytest.raises(NotADirectoryError):
        create(str(link), facts())
    assert [each for each in os.listdir(real) if each.startswith("bash-")] == [name]


async def test_task_is_not_created_behind_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(InvalidRequest) as caught:
        await Bash().run(Request("true", mode="background"), ToolContext(output_dir=tmp_path / "link"))
    assert caught.value.field in ("output_dir", "directory")
    assert os.listdir(tmp_path / "real") == []


def test_control_socket_that_is_a_symlink_is_refused(tmp_path: Path) -> None:
    from nacre.tasks.store.control_client import connect
    from nacre.tasks.store.directory import InvalidTaskDirectory

    name, directory = create(str(tmp_path), facts())
    (Path(directory) / CONTROL).symlink_to(tmp_path / "other")
    store = open_store(str(tmp_path))
    assert store is not None
    try:
        with (
            TaskDirectory(str(tmp_path), store, name) as folder,
            pytest.raises(InvalidTaskDirectory, match="not nacre's socket"),
        ):
            connect(folder)
    finally:
        os.close(store)


# a workspace cannot reach what nacre stores


def outside_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    return place


@needs_landlock
@pytest.mark.parametrize("field", ["output_dir", "spill_dir"])
async def test_output_directory_that_cannot_be_protected_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    place = outside_first(tmp_path, monkeypatch)
    (tmp_path / "elsewhere").mkdir()
    (place / "link").symlink_to(tmp_path / "elsewhere")
    for inside in (place, place / "tasks", place / "link", place / "link" / "tasks"):
        ctx = ToolContext(access="workspace", working_dir=place, **{field: inside})  # type: ignore[arg-type]
        with pytest.raises(InvalidRequest, match="in the workspace") as caught:
            await Bash().run(Request("echo ran >ran"), ctx)
        assert (caught.value.code, caught.value.field) == (f"bad_{field}", field)
    ctx = ToolContext(access="workspace", working_dir=place, **{field: tmp_path / "elsewhere"})  # type: ignore[arg-type]
    assert (await Bash().run(Request("true"), ctx)).ok
    assert os.listdir(place) == ["link"]


@needs_landlock
async def test_output_directory_in_the_workspace_is_protected_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = outside_first(tmp_path, monkeypatch)
    store = place / "deep" / "tasks"
    store.mkdir(parents=True)
    ended_task(store, Exited(0))
    before = sorted(os.listdir(store))
    attempts = (
        "mv deep away; mv deep/tasks away; mkdir deep/tasks/bash-00000000; ln -s / deep/tasks/x; rm -r deep/tasks; :"
    )
    ctx = ToolContext(access="workspace", working_dir=place, output_dir=store, approve=lambda _: True)
    if not with_user_namespace(kernel()).mounts:
        with pytest.raises(AccessUnavailable, match="writes tasks and output"):
            await Bash().run(attempts, ctx)
        return
    result = await Bash().run(attempts, ctx)
    assert (result.outcome, sorted(os.listdir(store))) == (Exited(0), before), result.output
    large = await Bash().run("seq 100000", replace(ctx, limits=Limits(output=1000)))
    assert large.spill is not None
    assert Path(large.spill.path).parent == store
    assert Path(large.spill.path).read_text().endswith("\n100000\n")
    assert not any("tasks" in note for note in large.notes), large.notes
    task = await Bash().run(Request('echo x >"$TMPDIR/x" && cat "$TMPDIR/x" && touch here', mode="background"), ctx)
    assert task.task is not None
    waited = await Tasks(store).wait(task.task.id, timeout=HANG_TIMEOUT_S)
    assert (waited.tasks[0].outcome, Tasks(store).output(task.task.id).text) == (Exited(0), "x\n")
    assert (place / "here").exists()


@needs_landlock
@pytest.mark.parametrize(
    ("variable", "what"), [("XDG_STATE_HOME", "nacre's own state"), ("XDG_CONFIG_HOME", "nacre's settings")]
)
async def test_workspace_containing_nacres_state_or_settings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, what: str
) -> None:
    place = outside_first(tmp_path, monkeypatch)
    monkeypatch.setenv(variable, str(place / "inside"))
    with pytest.raises(InvalidRequest, match=what) as caught:
        await Bash().run(Request("echo ran >ran"), ToolContext(access="workspace", working_dir=place))
    assert variable in caught.value.hint
    assert os.listdir(place) == []


@needs_landlock
@pytest.mark.parametrize("shape", ["link", "link-to-a-link", "link-above"])
@pytest.mark.parametrize(
    ("variable", "what"),
    [
        ("XDG_STATE_HOME", "nacre's own state"),
        ("XDG_CONFIG_HOME", "nacre's settings"),
        ("TMPDIR", "the directory for temporary files"),
    ],
)
async def test_state_behind_a_symlink_in_the_workspace_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, what: str, shape: str
) -> None:
    """A command could replace the link with its own directory."""
    place = outside_first(tmp_path, monkeypatch)
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    link = place / "link"
    link.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "first").symlink_to(link)
    named = {"link": link, "link-to-a-link": tmp_path / "first", "link-above": link / "deep"}[shape]
    monkeypatch.setenv(variable, str(named))
    monkeypatch.setattr(tempfile, "tempdir", None if variable == "TMPDIR" else tempfile.tempdir)
    with pytest.raises(InvalidRequest, match=what) as caught:
        await Bash().run(Request("rm link; mkdir link"), ToolContext(access="workspace", working_dir=place))
    assert str(link) in caught.value.message
    assert (variable in caught.value.hint, link.is_symlink()) == (True, True)
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere" / "deep"))
    assert (await Bash().run(Request("rm link"), ToolContext(access="workspace", working_dir=place))).ok
