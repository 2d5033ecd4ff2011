"""The control socket of a task: no message, however malformed, stops its keeper."""

from __future__ import annotations

import asyncio
import os
import select
import socket
from pathlib import Path

import pytest

from nacre import Bash, Request, ToolContext
from nacre.result import Exited, Killed
from nacre.tasks import Tasks
from nacre.tasks.store import control_client
from tests.support.descriptors import many_descriptors
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until

pytestmark = pytest.mark.linux  # reached by a path through /proc, because the real one may be too long


async def start(bash: Bash, store: Path, command: str) -> str:
    result = await bash.run(Request(command, mode="background"), ToolContext(output_dir=store))
    assert result.task is not None
    return result.task.id


def connect(store: Path, task: str) -> socket.socket:
    folder = os.open(store / task, os.O_RDONLY)
    try:
        line = socket.socket(socket.AF_UNIX)
        line.connect(f"/proc/self/fd/{folder}/control")
        return line
    finally:
        os.close(folder)


async def test_kill_request_takes_effect_even_if_the_client_disconnects(bash: Bash, tmp_path: Path) -> None:
    for _ in range(10):
        task = await start(bash, tmp_path, "sleep 60")
        with connect(tmp_path, task) as line:
            line.sendall(b"kill 15 1\n")
        waited = await Tasks(tmp_path).wait(task, timeout=HANG_TIMEOUT_S)
        assert isinstance(waited.tasks[0].outcome, Killed)


async def test_cancelled_kill_kills_the_task_or_leaves_it_running(bash: Bash, tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    for number in range(20):
        task = await start(bash, tmp_path, "sleep 60")
        killing = asyncio.ensure_future(tasks.kill(task))
        await turn_loop(number)
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
        assert tasks.get(task).state in ("running", "ended")
        assert isinstance((await tasks.kill(task, grace=0)).outcome, Killed)


RUBBISH = {
    "nothing": b"",
    "zeros": bytes(5000),
    "no newline": b"x" * 100_000,
    "lines": b"\n" * 5000,
    "kills": b"kill\nkill 99 1\nkill -1 1\nkill 0 1\nkill 15 -1\nkill 15 nan\nkill 15 inf\nkill x y\n",
    "words": b"watch\nwatch x\nwatch 1 2\neof 1\n",
    "bytes": bytes(range(256)) * 20,
    "half a watch": b"watch 5",
}


@pytest.mark.parametrize("said", RUBBISH.values(), ids=RUBBISH)
async def test_malformed_control_message_does_not_stop_the_keeper(bash: Bash, tmp_path: Path, said: bytes) -> None:
    tasks = Tasks(tmp_path)
    task = await start(bash, tmp_path, "sleep 60")
    for patient in (False, True):
        with connect(tmp_path, task) as line:
            line.setblocking(False)
            try:
                line.send(said)
                if patient:
                    await asyncio.wait_for(asyncio.get_running_loop().sock_recv(line, 65536), 0.2)
            except (OSError, TimeoutError):
                pass
    assert tasks.get(task).alive
    assert isinstance((await tasks.kill(task, grace=0)).outcome, Killed)


async def test_silent_connections_do_not_block_a_kill(bash: Bash, tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    with many_descriptors(1300):
        task = await start(bash, tmp_path, "sleep 60")
        crowd = [connect(tmp_path, task) for _ in range(1100)]
        await until(lambda: sum(_is_closed(line) for line in crowd) >= 1100 - 1024, "those who are one too many")
        assert isinstance((await tasks.kill(task, grace=0)).outcome, Killed)
        for line in crowd:
            line.close()


async def test_four_hundred_waits_do_not_block_a_kill(bash: Bash, tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    task = await start(bash, tmp_path, "sleep 60")
    waits = [asyncio.ensure_future(tasks.wait(task)) for _ in range(400)]
    await until(control_client.has_too_many, "as many connections as may be")
    assert isinstance((await tasks.kill(task, grace=0)).outcome, Killed)
    assert {waited.met for waited in await asyncio.gather(*waits)} == {(task,)}


def _is_closed(line: socket.socket) -> bool:
    try:
        return line.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False


async def test_client_that_never_reads_does_not_block_the_task(bash: Bash, tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    task = await start(bash, tmp_path, "for i in $(seq 20000); do echo $i; done; sleep 0.2; exit 3")
    with connect(tmp_path, task) as line:
        line.setblocking(False)
        for number in range(20_000):
            try:
                line.send(b"watch %d\nnonsense\n" % number)
            except BlockingIOError:
                await until(lambda: select.select([], [line], [], 0)[1], "room for more, or its end")
            except OSError:
                break
        waited = await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    assert waited.tasks[0].outcome == Exited(3)
