"""Leaks: no descriptor and no asyncio task is left, however often a wait is started and dropped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from pathlib import Path

import pytest

from nacre.keeper.protocol.task_dir import CONTROL, PROCESS
from nacre.result import Exited
from nacre.tasks.match import Match
from nacre.tasks.tasks import Tasks
from nacre.tasks.wait import Exit, Port, Quiet, WaitCondition
from tests.support.fake_keeper import ended_task, process_file, write_file
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until, until_steady, wait_until
from tests.tasks.conftest import Serve

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors")


def count_descriptors() -> int:
    """Count the open descriptors. Fewer than before is fine: what an earlier test dropped may be collected now."""
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("condition", [Exit(), Match("never"), Port(1), Quiet(1000)])
async def test_a_thousand_cancelled_waits_leak_nothing(tasks: Tasks, serve: Serve, condition: WaitCondition) -> None:
    keeper = serve()
    keeper.print_output(b"text\n")
    await tasks.wait(keeper.id, timeout=0, until=condition)
    await until_steady(count_descriptors)
    before, others = count_descriptors(), len(asyncio.all_tasks())
    for n in range(250):
        waits = [asyncio.ensure_future(tasks.wait(keeper.id, until=condition)) for _ in range(4)]
        await turn_loop(n % 12)  # cancel at each stage of the wait
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        assert all(wait.cancelled() for wait in waits)
    await until(lambda: count_descriptors() <= before and len(asyncio.all_tasks()) <= others, "everything let go of")
    assert tasks.get(keeper.id).alive


async def test_a_hundred_cancelled_follows_leak_nothing(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.print_output(b"text\n")
    before, others = count_descriptors(), len(asyncio.all_tasks())
    for n in range(100):
        following = tasks.follow(keeper.id)
        assert (await anext(following)).data == b"text\n"
        more = asyncio.ensure_future(anext(following))
        await turn_loop(n % 12)
        more.cancel()
        await asyncio.gather(more, return_exceptions=True)
        await following.aclose()
    await until(lambda: count_descriptors() <= before and len(asyncio.all_tasks()) <= others, "everything let go of")


def test_listing_and_reading_200_times_leaks_no_fds(tasks: Tasks, serve: Serve, store: Path) -> None:
    keeper = serve()
    ids = [keeper.id, ended_task(store, Exited(0), b"text"), ended_task(store, Exited(0))]
    write_file(store / ids[2], "status.json", b"[]")
    (store / "bash-00000001").symlink_to("/tmp")
    os.mkfifo(store / "bash-00000002")
    before = count_descriptors()
    for _ in range(200):
        assert len(tasks.list()) == 5
        for id in ids[:2]:
            tasks.output(id, lines=2)
    wait_until(lambda: count_descriptors() <= before, "everything let go of")


async def test_wait_can_cover_more_tasks_than_connections_are_allowed(
    tasks: Tasks, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.tasks.store.control_client._MAX_CONNECTIONS", 2)
    keepers = [serve() for _ in range(5)]
    waiting = asyncio.ensure_future(tasks.wait([keeper.id for keeper in keepers]))
    await until(lambda: sum(keeper.watchers for keeper in keepers) == 2, "two that are watched")
    for keeper in keepers:
        keeper.end(Exited(0))
    assert len((await asyncio.wait_for(waiting, HANG_TIMEOUT_S)).met) == 5


# keepers that violate the protocol


@pytest.mark.parametrize(
    "answer", [b"what\n", b"", b"at\n", b"at -5\n", b"at " + b"9" * 100 + b"\n", b"x" * 5000, b"\xff\n", b"end\n"]
)
async def test_malformed_keeper_reply_is_retried_at_a_limited_rate(tasks: Tasks, serve: Serve, answer: bytes) -> None:
    keeper = serve(begin=False)
    write_file(keeper.directory, PROCESS, process_file())
    Path(keeper.directory, "output.log").write_bytes(b"text\n")
    calls = 0

    async def serve_odd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        with contextlib.suppress(OSError):
            if await reader.readline():
                calls += 1
                writer.write(answer)
                await writer.drain()
            writer.close()
            await writer.wait_closed()

    listener = socket.socket(socket.AF_UNIX)
    fd = os.open(keeper.directory, os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{fd}/{CONTROL}")
    os.close(fd)
    server = await asyncio.start_unix_server(serve_odd, sock=listener)
    try:
        for condition in (Exit(), Quiet(1000)):
            assert (await tasks.wait(keeper.id, until=condition, timeout=0.3)).timed_out
            assert calls < 40
            calls = 0
        assert (await asyncio.to_thread(tasks.output, keeper.id)).data == b"text\n"
    finally:
        server.close()
        await server.wait_closed()
