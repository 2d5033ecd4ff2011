"""Tasks survive the death of what is around them: their host, keepers, disks, other programs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from nacre import Bash, InvalidRequest, Limits, Request, ToolContext
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.task_dir import LIVE
from nacre.result import Exited, Killed, Lost, NotStarted, Running
from nacre.tasks import Match, Tasks
from tests.support.census import forked_keepers, is_alive, need_to_see, state
from tests.support.disks import small_disk
from tests.support.hosts import run_host, started_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import HANG_TIMEOUT_S, until

COUNT = "for i in $(seq 40); do echo $i; sleep 0.05; done; exit 7"
COUNTED = "".join(f"{number}\n" for number in range(1, 41))
HOST = """
    import asyncio, sys
    from nacre import Bash, Limits, Request, ToolContext
    async def main():
        bash, ctx = Bash(), ToolContext(output_dir=sys.argv[1], limits=Limits(tasks=1000))
        for _ in range(int(sys.argv[3])):
            result = await bash.run(Request(sys.argv[2], mode="background"), ctx)
            print(result.task.id, flush=True)
        print("all", flush=True)
        await asyncio.Event().wait()
    asyncio.run(main())
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


async def start(bash: Bash, store: Path, command: str) -> str:
    result = await bash.run(Request(command, mode="background"), ToolContext(output_dir=store))
    assert result.task is not None, result
    return result.task.id


@pytest.mark.req("P-003")
@pytest.mark.parametrize("whole_group", [False, True], ids=["host", "group"])
@pytest.mark.parametrize("count", [1, 20])
async def test_task_survives_its_killed_host_and_loses_no_output(
    store: Path, gate: Gate, whole_group: bool, count: int
) -> None:
    tasks = Tasks(store)
    command = f"for i in $(seq 40); do echo $i; [ $i != 20 ] || {gate.wait}; sleep 0.01; done; exit 7"
    with started_host(HOST, store, command, count, own_group=whole_group) as host:
        assert host.stdout is not None
        ids = [host.stdout.readline().strip() for _ in range(count)]
        assert host.stdout.readline() == "all\n"
        await tasks.wait(ids[0], until=Match("^5$"), timeout=HANG_TIMEOUT_S)
        if whole_group:
            os.killpg(host.pid, signal.SIGKILL)
        else:
            host.kill()
        host.wait()
    assert {task.id for task in tasks.list(all=False)} <= set(ids)
    assert all(tasks.get(id).alive for id in ids)
    gate.open(count)
    waited = await tasks.wait(ids, timeout=HANG_TIMEOUT_S)
    assert set(waited.met) == set(ids)
    for id in ids:
        output = tasks.output(id)
        assert (output.task.outcome, output.text) == (Exited(7), COUNTED)
    assert os.listdir(store / LIVE) == []


@pytest.mark.linux
async def test_killing_the_keeper_of_a_foreground_command_ends_no_task(store: Path, bash: Bash) -> None:
    tasks = Tasks(store)
    task = await start(bash, store, COUNT)
    lost = await UNCHECKED.run("kill -9 $PPID; sleep 60")
    assert isinstance(lost.outcome, Lost)
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    output = tasks.output(task)
    assert (output.task.outcome, output.text) == (Exited(7), COUNTED)
    assert (await bash.run("echo next")).output == "next\n"


@pytest.mark.linux
async def test_task_whose_keeper_is_killed_is_lost_and_leaves_no_process_alive(
    store: Path, bash: Bash, life: Lifeline
) -> None:
    tasks = Tasks(store)
    task = await start(bash, store, f"{life.hold} setsid sleep 60 & sleep 60")
    os.kill(keeper_of(store, task), signal.SIGKILL)
    waited = await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    assert waited.tasks[0].outcome == Lost("its keeper was killed")
    await life.wait_until_ended()


@pytest.mark.linux
async def test_a_task_that_kills_its_keeper_at_once_is_lost_and_leaves_no_directory(
    store: Path, life: Lifeline
) -> None:
    command = f"{life.hold} kill -9 $PPID; sleep 60"
    result = await UNCHECKED.run(Request(command, mode="background"), ToolContext(output_dir=store))
    assert (type(result.outcome), result.task, os.listdir(store)) == (Lost, None, [LIVE])
    await life.wait_until_ended()


@pytest.mark.linux
async def test_processes_of_a_lost_task_are_found_by_their_tag_and_killed(store: Path, life: Lifeline) -> None:
    """Neither its keeper nor that of its host is alive to do it."""
    tasks = Tasks(store)
    command = f"{life.hold} (setsid env -i sleep 60 &); sleep 60"
    with started_host(HOST, store, command, 1) as host:
        assert host.stdout is not None
        task = host.stdout.readline().strip()
        await until(lambda: life.holders, "it to run")
        first = parent(keeper_of(store, task))
        host.kill()
        host.wait()
    await until(lambda: not is_alive(first), "the end of its host's keeper")
    os.kill(keeper_of(store, task), signal.SIGKILL)
    await until(lambda: not is_alive(keeper_of(store, task)), "the keeper's death")
    assert not life.over
    ended = await tasks.kill(task, grace=0.5)
    await life.wait_until_ended()
    assert (ended.state, ended.running) == ("lost", ())


async def test_task_from_before_a_reboot_is_lost_and_a_reused_pid_is_spared(store: Path, bash: Bash) -> None:
    tasks = Tasks(store)
    task = await start(bash, store, "sleep 60")
    facts = json.loads((store / task / "process.json").read_text())
    os.kill(facts["keeper"][0], signal.SIGKILL)
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    facts |= {"boot": "another", "pid": os.getpid(), "pgid": os.getpgrp(), "started": 1, "tag": 1}
    (store / task / "process.json").write_text(json.dumps(facts))
    assert tasks.get(task).outcome == Lost("the machine was restarted")
    await tasks.kill(task, grace=0)  # its file now contains this test's own PID


async def test_two_programs_can_share_a_task_store(store: Path) -> None:
    program = """
        import asyncio, sys
        from nacre import Bash, Limits, Request, ToolContext
        from nacre.tasks.tasks import Tasks
        async def main():
            bash, tasks = Bash(), Tasks(sys.argv[1])
            ctx = ToolContext(output_dir=sys.argv[1], limits=Limits(tasks=1000))
            async def one(number):
                kill = number % 2
                result = await bash.run(Request("sleep 60" if kill else "sleep 0.2; exit 3", mode="background"), ctx)
                if kill:
                    await tasks.kill(result.task.id, grace=0)
                print(result.task.id, kill)
            await asyncio.gather(*(one(number) for number in range(20)))
            await tasks.wait([task.id for task in tasks.list(all=False)])
        asyncio.run(main())
    """
    said = await asyncio.gather(*(asyncio.to_thread(run_host, program, store) for _ in range(2)))
    rows = [line.split() for text in said for line in text.splitlines()]
    assert len({id for id, _ in rows}) == 40
    tasks = {task.id: task for task in Tasks(store).list()}
    assert tasks.keys() == {id for id, _ in rows}
    for id, killed in rows:
        assert isinstance(tasks[id].outcome, Killed if killed == "1" else Exited), tasks[id]


async def test_full_disk_is_reported_and_harms_no_other_run(bash: Bash, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1M") as disk:
        ctx = ToolContext(output_dir=disk)
        tasks = Tasks(disk)
        result = await bash.run(Request("head -c 3000000 /dev/zero; sleep 0.2; exit 7", mode="background"), ctx)
        assert result.task is not None
        task = result.task.id
        await tasks.wait(task, timeout=HANG_TIMEOUT_S)
        ended = tasks.get(task)
        assert (ended.outcome, ended.bytes) == (Exited(7), 3_000_000)
        assert 0 < 3_000_000 - ended.dropped < 1 << 20
        facts = json.loads((disk / task / "status.json").read_text())
        assert facts["log"]["problem"] == "No space left on device"
        (disk / ".ballast").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize))
        with pytest.raises(InvalidRequest, match="No space left") as caught:
            await bash.run(Request("sleep 60", mode="background"), ctx)
        assert caught.value.code == "task_not_kept"
        assert [each.id for each in tasks.list()] == [task]
        assert (await bash.run("echo fine")).output == "fine\n"


@pytest.mark.linux
async def test_stopped_task_keeper_is_woken_to_kill_its_task(store: Path, bash: Bash) -> None:
    tasks = Tasks(store)
    task = await start(bash, store, "sleep 60")
    os.kill(keeper_of(store, task), signal.SIGSTOP)
    assert tasks.get(task).alive
    assert isinstance((await tasks.kill(task)).outcome, Killed)


@pytest.mark.linux
async def test_stopped_keeper_hidden_by_hidepid_is_woken(
    store: Path, bash: Bash, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with hidepid=2: a keeper is not dumpable, so it is hidden from its own user."""
    tasks = Tasks(store)
    task = await start(bash, store, "sleep 60")
    keeper = keeper_of(store, task)
    started = procfs.start_time
    monkeypatch.setattr(procfs, "start_time", lambda pid: 0 if pid == keeper else started(pid))
    os.kill(keeper, signal.SIGSTOP)
    assert isinstance((await tasks.kill(task)).outcome, Killed)


@pytest.mark.linux
async def test_killed_or_stopped_standby_keeper_does_not_block_new_tasks(store: Path, bash: Bash) -> None:
    tasks = Tasks(store)
    first = await start(bash, store, "sleep 60")
    for number in (signal.SIGSTOP, signal.SIGKILL):
        used = {keeper_of(store, task.id) for task in tasks.list()}
        heirs = await until(lambda: set(forked_keepers(parent(keeper_of(store, first)))) - used, "one made ahead")  # noqa: B023
        for heir in heirs:
            os.kill(heir, number)
            await until(lambda: state(heir) in ("T", "Z", ""), "the signal to have its effect")  # noqa: B023
        await start(bash, store, "sleep 60")
    for task in tasks.list():
        assert isinstance((await tasks.kill(task.id, grace=0)).outcome, Killed)


@pytest.mark.linux
async def test_two_hundred_tasks_leak_no_fds_in_the_host(store: Path, bash: Bash) -> None:
    ctx = ToolContext(output_dir=store, limits=Limits(tasks=1000))

    async def round(count: int) -> None:
        for _ in range(count):
            result = await bash.run(Request("exit 3", mode="background"), ctx)
            assert isinstance(result.outcome, Exited | Running | NotStarted)
        await Tasks(store).wait([task.id for task in Tasks(store).list(all=False)], timeout=HANG_TIMEOUT_S)

    await round(5)
    before = len(os.listdir("/proc/self/fd"))
    await round(200)
    assert len(os.listdir("/proc/self/fd")) == before
    assert {task.exit_code for task in Tasks(store).list()} == {3}
    assert os.listdir(store / LIVE) == []


def keeper_of(store: Path, task: str) -> int:
    keeper: int = json.loads((store / task / "process.json").read_text())["keeper"][0]
    return keeper


def parent(pid: int) -> int:
    need_to_see(pid)
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
