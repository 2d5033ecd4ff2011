"""Waiting for tasks: conditions hold or not, keepers are not polled, nothing is left behind."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InvalidRequest, NoSuchTask
from nacre.result import Exited, Lost
from nacre.tasks.match import Match
from nacre.tasks.store.task import Task
from nacre.tasks.tasks import Tasks
from nacre.tasks.wait import Exit, Port, Quiet, WaitCondition, WaitResult
from tests.support.fake_keeper import FakeKeeper, ended_task
from tests.support.hosts import run_host
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until
from tests.tasks.conftest import Serve

PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


def wait_summary(waited: WaitResult) -> tuple[tuple[str, ...], tuple[str, ...], bool, dict[str, str]]:
    return waited.met, waited.ended, waited.timed_out, waited.match


async def start_wait(tasks: Tasks, keeper: FakeKeeper, **options: Any) -> asyncio.Task[WaitResult]:
    """Start a wait; return its asyncio task once it waits."""
    waiting = asyncio.ensure_future(tasks.wait(keeper.id, **options))
    await until(lambda: keeper.watchers or waiting.done(), "a wait that waits")
    return waiting


async def finish_wait(waiting: asyncio.Task[WaitResult]) -> WaitResult:
    return await asyncio.wait_for(waiting, HANG_TIMEOUT_S)


@pytest.mark.req("M-06")
async def test_wait_without_a_condition_ends_with_the_task(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    waiting = await start_wait(tasks, keeper)
    keeper.print_output(b"still there\n")
    assert not waiting.done()
    keeper.end(Exited(4))
    waited = await finish_wait(waiting)
    assert wait_summary(waited) == ((keeper.id,), (), False, {})
    assert waited.tasks[0].exit_code == 4
    assert keeper.asked.count(b"watch %d" % 2**62) == 1


async def test_wait_for_ended_tasks_returns_at_once(tasks: Tasks, serve: Serve, store: Path) -> None:
    ended, lost = ended_task(store, Exited(1)), serve()
    lost.die()
    waited = await tasks.wait([lost.id, ended])
    assert [task.outcome for task in waited.tasks] == [Lost("its keeper was killed"), Exited(1)]
    assert wait_summary(waited) == ((lost.id, ended), (), False, {})
    assert wait_summary(await tasks.wait([])) == ((), (), False, {})


async def test_wait_for_any_ends_with_the_first_task(tasks: Tasks, serve: Serve) -> None:
    keepers = [serve() for _ in range(3)]
    ids = [keeper.id for keeper in keepers]
    waiting = asyncio.ensure_future(tasks.wait(ids, any=True))
    await until(lambda: all(keeper.watchers for keeper in keepers), "three that are watched")
    keepers[1].end(Exited(0))
    waited = await finish_wait(waiting)
    assert wait_summary(waited) == ((ids[1],), (), False, {})
    assert [task.state for task in waited.tasks] == ["running", "ended", "running"]
    await until(lambda: not any(keeper.callers for keeper in keepers), "connections that close")


async def test_wait_for_all_ends_with_the_last_task(tasks: Tasks, serve: Serve) -> None:
    keepers = [serve() for _ in range(3)]
    waiting = asyncio.ensure_future(tasks.wait([keeper.id[:10] for keeper in keepers]))
    for keeper in keepers:
        await until(lambda keeper=keeper: keeper.watchers, "one that is watched")  # type: ignore[misc]
        assert not waiting.done()
        keeper.end(Exited(0))
    assert (await finish_wait(waiting)).met == tuple(keeper.id for keeper in keepers)


@pytest.mark.parametrize("timeout", [0, 0.05])
@pytest.mark.parametrize("condition", [Exit(), Match("never"), Port(1), Quiet(1000)])
@pytest.mark.parametrize("text", [b"", b"text\n", b"\xe2"])
async def test_wait_ends_at_its_timeout(
    tasks: Tasks, serve: Serve, timeout: float, condition: WaitCondition, text: bytes
) -> None:
    keeper = serve()
    keeper.print_output(text)
    waited = await asyncio.wait_for(tasks.wait(keeper.id, timeout=timeout, until=condition), HANG_TIMEOUT_S)
    assert wait_summary(waited) == ((), (), True, {})
    assert waited.tasks[0].alive
    await until(lambda: not keeper.callers, "connections that close")


async def test_wait_with_timeout_zero_still_checks_the_condition(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.print_output(b"x" * 500_000 + b"\nready\n")
    assert wait_summary(await tasks.wait(keeper.id, timeout=0, until=Match("^ready$"))) == (
        (keeper.id,),
        (),
        False,
        {keeper.id: "ready"},
    )


async def test_wait_covers_a_task_that_starts_late(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(begin=False)
    waiting = asyncio.ensure_future(tasks.wait(keeper.id))
    await turn_loop()
    keeper.begin()
    await until(lambda: keeper.watchers, "one that is watched")
    keeper.end(Exited(0))
    assert (await finish_wait(waiting)).met == (keeper.id,)


async def test_wait_ends_when_the_keeper_is_killed(tasks: Tasks, serve: Serve) -> None:
    for condition, met in ((Exit(), True), (Match("x"), False), (Quiet(1000), False), (Port(1), False)):
        keeper = serve()
        waiting = await start_wait(tasks, keeper, until=condition)
        keeper.die()
        waited = await finish_wait(waiting)
        assert (bool(waited.met), bool(waited.ended), waited.tasks[0].state) == (met, not met, "lost")


async def test_wait_ends_when_the_task_is_removed(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(command="make")
    waiting = await start_wait(tasks, keeper)
    shutil.rmtree(keeper.directory)
    keeper.die()
    waited = await finish_wait(waiting)
    (task,) = waited.tasks
    assert (task.id, task.command, task.state, task.problem) == (keeper.id, "make", "broken", "it was removed")
    assert wait_summary(waited) == ((), (keeper.id,), False, {})


async def test_match_finds_a_pattern_in_an_unfinished_line(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.print_output(b"starting\nListen")
    waiting = await start_wait(tasks, keeper, until=Match(r"Listening on (\d+)"))
    keeper.print_output(b"ing on 80")
    waited = await finish_wait(waiting)
    assert wait_summary(waited) == ((keeper.id,), (), False, {keeper.id: "Listening on 80"})
    assert waited.tasks[0].alive


@pytest.mark.parametrize(
    ("pattern", "printed", "line"),
    [
        ("^b$", [b"a\nb\nc\n"], "b"),
        ("^b$", [b"a\r\nb\r\n"], "b"),
        ("€", [b"\xe2", b"\x82", b"\xac"], "€"),
        ("Local: +http", [b"\x1b[32mLocal\x1b[39m:   \x1b[1mhttp://x\x1b[22m\n"], "Local:   http://x"),
        (re.compile("ERROR", re.IGNORECASE), [b"no\n", b"an error\n"], "an error"),
        ("end$", [b"x" * 100_000, b"y" * 100_000 + b"the ", b"end\n"], None),
    ],
)
async def test_match_handles_anchors_colours_and_split_output(
    tasks: Tasks, serve: Serve, pattern: str | re.Pattern[str], printed: list[bytes], line: str | None
) -> None:
    keeper = serve()
    waiting = await start_wait(tasks, keeper, until=Match(pattern))
    for data in printed:
        keeper.print_output(data)
    found = (await finish_wait(waiting)).match[keeper.id]
    assert found == line if line is not None else found.endswith("the end")


async def test_match_that_never_comes_ends_with_the_task(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.print_output(b"early\n")
    waiting = await start_wait(tasks, keeper, until=Match("early", since=6))
    keeper.end(Exited(0))
    assert wait_summary(await finish_wait(waiting)) == ((), (keeper.id,), False, {})
    assert (await tasks.wait(keeper.id, until=Match("early"))).match == {keeper.id: "early"}


async def test_port_condition_needs_a_listener_and_a_live_task(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    server = socket.socket()
    with server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        waiting = await start_wait(tasks, keeper, until=Port(port))
        assert not waiting.done()
        server.listen()
        assert (await finish_wait(waiting)).met == (keeper.id,)
        keeper.end(Exited(0))
        assert wait_summary(await tasks.wait(keeper.id, until=Port(port))) == ((), (keeper.id,), False, {})


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
async def test_port_condition_is_met_by_a_listener_on_the_ipv6_loopback(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    with socket.socket(socket.AF_INET6) as server:
        try:
            server.bind(("::1", 0))
        except OSError:
            pytest.skip("no ::1 here")
        server.listen()
        assert (await tasks.wait(keeper.id, until=Port(server.getsockname()[1]), timeout=HANG_TIMEOUT_S)).met == (
            keeper.id,
        )


@pytest.mark.linux
def test_port_check_never_occupies_the_port() -> None:
    """With only four ports to choose from, TCP soon connects to itself."""
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-rn", "test", "-w", PORT_RANGE], stderr=subprocess.DEVNULL).returncode
    ):
        pytest.skip("no network of its own can be had here (unshare -rn), or its range of ports cannot be set")
    program = """
        import asyncio, fcntl, socket, struct, sys
        from nacre.tasks.wait import Port, _listens

        with socket.socket() as some:
            fcntl.ioctl(some, 0x8914, struct.pack("16sH14x", b"lo", 0x41))  # SIOCSIFFLAGS: up and running
        with open(sys.argv[1], "w") as file:
            file.write("40000 40003")

        async def main():
            for port in range(40000, 40004):
                assert not any([await _listens(Port(port)) for _ in range(20)])
                with socket.create_server(("127.0.0.1", port)):
                    assert await _listens(Port(port))

        asyncio.run(main())
        print("free")
    """
    assert run_host(program, PORT_RANGE, through=("unshare", "-rn")) == "free\n"


async def test_quiet_condition_counts_from_the_last_output(tasks: Tasks, serve: Serve) -> None:
    import os
    import time

    keeper = serve()
    os.utime(f"{keeper.directory}/output.log", (time.time() - 100, time.time() - 100))
    assert (await tasks.wait(keeper.id, until=Quiet(50), timeout=0)).met == (keeper.id,)
    waiting = await start_wait(tasks, keeper, until=Quiet(101))
    keeper.print_output(b"not yet\n")
    await until(lambda: b"watch 8" in keeper.asked, "another look")
    assert not waiting.done()
    waiting.cancel()
    quiet = asyncio.ensure_future(tasks.wait(keeper.id, until=Quiet(0.05)))
    assert (await finish_wait(quiet)).met == (keeper.id,)
    keeper.end(Exited(0))
    assert wait_summary(await tasks.wait(keeper.id, until=Quiet(0))) == ((), (keeper.id,), False, {})


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": -1},
        {"timeout": "5"},
        {"timeout": float("nan")},
        {"until": Match("(")},
        {"until": Match(5)},  # type: ignore[arg-type]
        {"until": Match(re.compile(b"x"))},  # type: ignore[arg-type]
        {"until": Port(0)},
        {"until": Port(70000)},
        {"until": Quiet(-1)},
        {"until": Match("x", since=99)},
    ],
)
async def test_invalid_wait_options_are_refused(tasks: Tasks, serve: Serve, options: dict[str, Any]) -> None:
    keeper = serve()
    with pytest.raises(InvalidRequest):
        await tasks.wait(keeper.id, **options)
    with pytest.raises(NoSuchTask):
        await tasks.wait([keeper.id, "bash-00000000"])
    await until(lambda: not keeper.callers, "connections that close")


async def test_wait_sync_works_inside_and_outside_an_event_loop(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    assert tasks.wait_sync(keeper.id, timeout=0).timed_out
    threading.Timer(0.05, keeper.end, [Exited(0)]).start()
    waited = await asyncio.to_thread(tasks.wait_sync, keeper.id)
    assert waited.met == (keeper.id,)
    with pytest.raises(NoSuchTask):
        tasks.wait_sync("nothing")


# completions


async def test_completions_yields_each_ended_task_once_in_order(tasks: Tasks, serve: Serve, store: Path) -> None:
    ended_task(store, Exited(0))  # before the wait began
    running = [serve(), serve()]
    ends: list[Task] = []

    async def listen() -> None:
        async for task in tasks.completions(poll_new=0.02):
            ends.append(task)  # noqa: PERF401  # immediately visible to the test

    listening = asyncio.ensure_future(listen())
    await until(lambda: all(keeper.watchers for keeper in running), "those that are watched")
    running[1].end(Exited(5))
    await until(lambda: len(ends) == 1, "the first end")
    late = serve()
    await until(lambda: late.watchers, "a new one that is watched")
    late.die()
    await until(lambda: len(ends) == 2, "the second end")
    quick = ended_task(store, Exited(6))
    await until(lambda: len(ends) == 3, "one that was over before anybody saw it run")
    assert [(task.id, task.outcome) for task in ends] == [
        (running[1].id, Exited(5)),
        (late.id, Lost("its keeper was killed")),
        (quick, Exited(6)),
    ]
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await until(lambda: not running[0].callers, "connections that close")


async def test_completions_works_for_a_store_that_does_not_exist_yet(tasks: Tasks, store: Path) -> None:
    waiting = asyncio.ensure_future(anext(tasks.completions(poll_new=0.01)))
    await turn_loop(2)
    id = ended_task(store, Exited(0))
    assert (await asyncio.wait_for(waiting, HANG_TIMEOUT_S)).id == id
