"""Writing to tasks that were started with their standard input open."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from nacre.errors import InvalidRequest
from nacre.keeper.protocol.task_dir import STDIN
from nacre.result import Exited
from nacre.tasks.handle import TaskHandle
from nacre.tasks.tasks import Tasks
from tests.support.fake_keeper import FakeKeeper
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until
from tests.tasks.conftest import Serve


def reading_end(keeper: FakeKeeper) -> int:
    return os.open(Path(keeper.directory, STDIN), os.O_RDONLY | os.O_NONBLOCK)


async def test_written_data_arrives_and_close_sends_eof(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(stdin=True)
    fd = reading_end(keeper)
    try:
        await tasks.write(keeper.id, "grün\n")
        await tasks.write(keeper.id, b"\xff\0", close=True)
        assert os.read(fd, 100) == "grün\n".encode() + b"\xff\0"
        assert keeper.eofs == 1
        await tasks.close_stdin(keeper.id)
        assert keeper.eofs == 2
    finally:
        os.close(fd)


async def test_write_with_close_accepts_a_task_that_has_just_ended(
    tasks: Tasks, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = serve(stdin=True)

    async def write(place: TaskHandle, data: bytes) -> None:
        keeper.end(Exited(0))

    monkeypatch.setattr("nacre.tasks.stdin.write", write)
    await asyncio.wait_for(tasks.write(keeper.id, "\n", close=True), HANG_TIMEOUT_S)
    with pytest.raises(InvalidRequest, match="is no longer running"):
        await tasks.close_stdin(keeper.id)


async def test_write_of_a_megabyte_continues_as_it_is_read(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(stdin=True)
    fd = reading_end(keeper)
    data = os.urandom(1_000_000)
    read = b""
    try:
        writing = asyncio.ensure_future(tasks.write(keeper.id, data))
        while len(read) < len(data):
            await turn_loop()
            try:
                read += os.read(fd, 65536)
            except BlockingIOError:
                continue
        await asyncio.wait_for(writing, HANG_TIMEOUT_S)
    finally:
        os.close(fd)
    assert read == data


async def test_write_that_is_not_read_can_be_cancelled_without_leaking_fds(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(stdin=True)
    fd = reading_end(keeper)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    try:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tasks.write(keeper.id, b"x" * 1_000_000), 0.05)
        await until(lambda: not before or len(os.listdir("/proc/self/fd")) <= before, "everything let go of")
    finally:
        os.close(fd)


async def test_write_is_refused_when_the_reader_closes_stdin(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(stdin=True)
    fd = reading_end(keeper)
    writing = asyncio.ensure_future(tasks.write(keeper.id, b"x" * 1_000_000))
    await turn_loop()
    os.close(fd)
    with pytest.raises(InvalidRequest, match="closed its standard input") as refusal:
        await asyncio.wait_for(writing, HANG_TIMEOUT_S)
    assert refusal.value.code == "stdin_not_open"


async def test_write_to_a_task_without_an_open_stdin_is_refused_with_the_reason(tasks: Tasks, serve: Serve) -> None:
    without, closed, odd, over = serve(), serve(stdin=True), serve(stdin=True), serve(stdin=True)
    Path(odd.directory, STDIN).unlink()
    Path(odd.directory, STDIN).write_text("a file")
    over.end(Exited(3))
    for keeper, code, why in (
        (without, "stdin_not_open", "started without an open standard input"),
        (closed, "stdin_not_open", "has closed its standard input"),
        (odd, "stdin_not_open", "not nacre's pipe"),
        (over, "task_ended", "exit 3"),
    ):
        with pytest.raises(InvalidRequest, match=why) as refusal:
            await asyncio.wait_for(tasks.write(keeper.id, b"x"), HANG_TIMEOUT_S)
        assert refusal.value.code == code
    for keeper, code in ((without, "stdin_not_open"), (over, "task_ended")):
        with pytest.raises(InvalidRequest) as refusal:
            await tasks.close_stdin(keeper.id)
        assert refusal.value.code == code


async def test_write_to_a_starting_task_arrives_once_it_has_started(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(stdin=True, begin=False)
    writing = asyncio.ensure_future(tasks.write(keeper.id, b"early"))
    await turn_loop()
    fd = reading_end(keeper)
    keeper.begin()
    try:
        await asyncio.wait_for(writing, HANG_TIMEOUT_S)
        assert os.read(fd, 100) == b"early"
    finally:
        os.close(fd)
