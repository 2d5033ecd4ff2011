"""Killing tasks: through their keeper, and without one. Other processes are never signalled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre.base.system import LINUX
from nacre.errors import InvalidRequest, NoSuchTask
from nacre.keeper.protocol.bootstrap import SHELL_MARKER
from nacre.keeper.protocol.procfs import RLIMIT_LOCKS, TAG_VARIABLE, read_process
from nacre.keeper.protocol.task_dir import PROCESS
from nacre.result import Exited, Killed, Lost
from nacre.tasks.store.store import create
from nacre.tasks.tasks import Tasks
from tests.support.census import is_alive, pids
from tests.support.fake_keeper import ended_task, facts, process_file, start_of_process, write_file
from tests.support.hosts import run_host
from tests.support.machines import stale_proc
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until
from tests.tasks.conftest import Serve

Start = Callable[..., subprocess.Popen[bytes]]
SHELL = f"{SHELL_MARKER} _ </dev/null; echo; while :; do sleep 1000; done"
"""Looks like a shell of nacre that has shed its tag."""


@pytest.fixture
def start() -> Iterator[Start]:
    """Yield a function that starts a sleeping process in its own group, tagged on request, ready when it returns."""
    started: list[subprocess.Popen[bytes]] = []

    def run(text: str = "echo; exec sleep 1000", tag: int = 0) -> subprocess.Popen[bytes]:
        def mark() -> None:
            if tag:
                resource.setrlimit(RLIMIT_LOCKS, (tag, resource.getrlimit(RLIMIT_LOCKS)[1]))

        env = {**os.environ, TAG_VARIABLE: str(tag)} if tag else None
        process = subprocess.Popen(
            ["bash", "-c", text], start_new_session=True, stdout=subprocess.PIPE, preexec_fn=mark, env=env
        )
        assert process.stdout is not None
        process.stdout.readline()
        started.append(process)
        return process

    yield run
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def new_tag() -> int:
    return int.from_bytes(os.urandom(5), "big") | 1 << 41


def lost_task(store: Path, process: subprocess.Popen[bytes], **changes: Any) -> str:
    name, directory = create(str(store), facts())
    ids = {"pid": process.pid, "pgid": process.pid, "started": start_of_process(process.pid)}
    write_file(directory, PROCESS, process_file(**{**ids, **changes}))
    return name


@pytest.mark.req("M-06")
async def test_kill_signals_through_the_keeper_and_waits_for_the_end(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    task = await tasks.kill(keeper.id, signal="int", grace=2)
    assert (task.state, task.outcome) == ("ended", Killed("you"))
    assert keeper.kills == [(signal.SIGINT, 2.0)]
    assert await tasks.kill(keeper.id) == task  # a second kill sends nothing
    assert keeper.kills == [(signal.SIGINT, 2.0)]
    keeper.die()


async def test_starting_task_is_killed_once_it_has_started(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(begin=False)
    killing = asyncio.ensure_future(tasks.kill(keeper.id))
    await turn_loop()
    keeper.begin()
    assert (await asyncio.wait_for(killing, HANG_TIMEOUT_S)).outcome == Killed("you")


async def test_cancelled_kill_closes_its_connections(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.on_kill = lambda: None
    killing = asyncio.ensure_future(tasks.kill(keeper.id))
    await until(lambda: keeper.kills and keeper.watchers, "a kill that waits")
    killing.cancel()
    await asyncio.gather(killing, return_exceptions=True)
    await until(lambda: not keeper.callers, "connections that close")
    assert tasks.get(keeper.id).alive


async def test_kill_returns_a_task_that_does_not_end_as_alive(
    tasks: Tasks, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.tasks.kill._KEEPER_MARGIN_S", 0.05)
    keeper = serve()
    keeper.on_kill = lambda: None
    assert (await tasks.kill(keeper.id, grace=0)).alive


@pytest.mark.parametrize("value", ["TERM", "SIGTERM", "sigterm", " term", "15", 15, signal.SIGTERM])
async def test_kill_accepts_signal_names_and_numbers(tasks: Tasks, serve: Serve, value: int | str) -> None:
    keeper = serve()
    await tasks.kill(keeper.id, signal=value)
    assert keeper.kills == [(15, 5.0)]


@pytest.mark.parametrize("value", ["", "HUPP", "0", 0, -9, 1000, True, None, "SIG", "SIG_IGN", "9" * 5000, "²"])
async def test_invalid_signal_is_refused(tasks: Tasks, serve: Serve, value: Any) -> None:
    keeper = serve()
    with pytest.raises(InvalidRequest, match="signal"):
        await tasks.kill(keeper.id, signal=value)
    assert tasks.get(keeper.id).alive


@pytest.mark.parametrize("grace", [-1, float("nan"), float("inf"), "5", True])
async def test_invalid_grace_is_refused(tasks: Tasks, store: Path, grace: Any) -> None:
    with pytest.raises(InvalidRequest, match="grace"):
        await tasks.kill(ended_task(store, Exited(0)), grace=grace)
    with pytest.raises(NoSuchTask):
        await tasks.kill("bash-00000000")


async def test_kill_finds_processes_of_a_dead_keeper_by_their_tag(tasks: Tasks, store: Path, start: Start) -> None:
    tag = new_tag()
    process = start(tag=tag)
    other = start(tag=tag + 1)
    id = lost_task(store, process, tag=tag, pid=1, started=0, pgid=1)
    task = await asyncio.wait_for(tasks.kill(id), HANG_TIMEOUT_S)
    assert (task.outcome, task.running) == (Lost("its keeper was killed"), ())
    assert process.wait(HANG_TIMEOUT_S) == -signal.SIGTERM
    assert is_alive(other.pid)
    assert tasks.get(id).state == "lost"


async def test_process_that_ignores_sigterm_is_killed_with_sigkill(tasks: Tasks, store: Path, start: Start) -> None:
    tag = new_tag()
    process = start("trap '' TERM; echo; while :; do sleep 1000; done", tag=tag)
    task = await asyncio.wait_for(tasks.kill(lost_task(store, process, tag=tag), grace=0.1), HANG_TIMEOUT_S)
    assert task.running == ()
    assert process.wait(HANG_TIMEOUT_S) == -signal.SIGKILL


@pytest.mark.linux
async def test_kill_reaches_untagged_processes_of_the_process_group(tasks: Tasks, store: Path, start: Start) -> None:
    tag = new_tag()
    process = start("(ulimit -Sx unlimited; trap '' TERM; echo; while :; do sleep 1000; done) & wait", tag=tag)
    id = lost_task(store, process, tag=tag)
    assert (await asyncio.wait_for(tasks.kill(id, grace=0.2), HANG_TIMEOUT_S)).running == ()
    assert process.wait(HANG_TIMEOUT_S) in (-signal.SIGTERM, -signal.SIGKILL)  # a busy machine may outlast the grace
    seen = [read_process(pid) for pid in pids()]
    assert [each.command for each in seen if each is not None and each.pgid == process.pid and each.is_alive] == []


@pytest.mark.parametrize("changes", [{"started": 1}, {"started": 0}, {"boot": "another"}, {"boot": ""}])
async def test_process_with_a_reused_pid_is_not_killed(
    tasks: Tasks, store: Path, start: Start, changes: dict[str, Any]
) -> None:
    process = start(SHELL)
    id = lost_task(store, process, **changes)
    task = await asyncio.wait_for(tasks.kill(id, grace=0), HANG_TIMEOUT_S)
    assert (task.state, task.running) == ("lost", ())
    assert is_alive(process.pid)


@pytest.mark.linux
async def test_kill_signals_nothing_when_proc_is_of_another_pid_namespace(
    tasks: Tasks, store: Path, start: Start
) -> None:
    """A PID found there is another process here."""
    tag = new_tag()
    process = start(tag=tag)
    id = lost_task(store, process, tag=tag)
    program = """
        import asyncio, sys
        from nacre import InvalidRequest
        from nacre.tasks import Tasks
        try:
            print(asyncio.run(Tasks(sys.argv[1]).kill(sys.argv[2], grace=0)))
        except InvalidRequest as error:
            print(error.code, error.hint)
    """
    said = await asyncio.to_thread(run_host, program, store, id, through=stale_proc())
    assert said.startswith("no_proc /proc belongs to another PID namespace: ")
    assert is_alive(process.pid)


async def test_tag_from_another_boot_is_ignored(tasks: Tasks, store: Path, start: Start) -> None:
    tag = new_tag()
    process = start(tag=tag)
    if not Path("/proc/sys/kernel/random/boot_id").exists():
        pytest.skip("this system has no boot id")
    task = await tasks.kill(lost_task(store, process, tag=tag, boot="another"), grace=0)
    assert task.outcome == Lost("the machine was restarted")
    assert is_alive(process.pid)


@pytest.mark.skipif(not LINUX, reason="needs /proc")
async def test_process_that_cannot_be_killed_is_named(
    tasks: Tasks, store: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.tasks.kill._UNKILLABLE_AFTER_S", 0.05)
    monkeypatch.setattr("nacre.tasks.kill._signal", lambda pids, begun, known, number: set(pids))
    tag = new_tag()
    process = start(tag=tag)
    task = await tasks.kill(lost_task(store, process, tag=tag), grace=0)
    assert [left.pid for left in task.running] == [process.pid]
    assert task.running[0].command == "sleep 1000"


def test_kill_sync_works_without_an_event_loop(tasks: Tasks, serve: Serve) -> None:
    assert tasks.kill_sync(serve().id).outcome == Killed("you")
