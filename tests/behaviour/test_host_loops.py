"""Hosts with threads, with several event loops, and with loops that are closed at any moment."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

import nacre
from nacre import Bash, Result
from nacre.result import Exited
from tests.support.hosts import run_host
from tests.support.lifeline import Lifeline
from tests.support.waiting import HANG_TIMEOUT_S


def outcome_and_output(result: Result) -> tuple[object, str]:
    return result.outcome, result.output


def test_a_run_works_from_a_thread() -> None:
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(nacre.run_sync("echo hi")))
    thread.start()
    thread.join()
    assert [outcome_and_output(result) for result in results] == [(Exited(0), "hi\n")]


def test_several_event_loops_in_threads_share_one_bash(bash: Bash) -> None:
    barrier = threading.Barrier(8)

    async def several(name: int) -> list[str]:
        barrier.wait(HANG_TIMEOUT_S)
        return [result.stdout for result in await asyncio.gather(*(bash.run(f"echo {name}.{i}") for i in range(10)))]

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda name: asyncio.run(several(name)), range(8)))
    assert said == [[f"{name}.{i}\n" for i in range(10)] for name in range(8)]


def test_asyncio_run_can_be_repeated(bash: Bash) -> None:
    assert [asyncio.run(bash.run(f"echo {i}")).stdout for i in range(5)] == [f"{i}\n" for i in range(5)]


async def test_a_synchronous_run_inside_a_running_loop_works() -> None:
    assert outcome_and_output(nacre.run_sync("echo hi")) == (Exited(0), "hi\n")


async def test_synchronous_run_inside_a_running_loop_raises_invalid_request() -> None:
    with pytest.raises(nacre.InvalidRequest):
        nacre.run_sync("")


async def test_a_run_under_anyio_works(bash: Bash) -> None:
    results: list[Result] = []

    async def one(i: int) -> None:
        results.append(await bash.run(f"echo {i}"))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for i in range(5):
                group.start_soon(one, i)
    assert sorted(result.stdout for result in results) == [f"{i}\n" for i in range(5)]


async def test_three_hundred_concurrent_runs_each_return_their_own_output(bash: Bash) -> None:
    results = await asyncio.gather(*(bash.run(f"echo {i}; echo {i} >&2; exit {i % 200}") for i in range(300)))
    assert [(result.exit_code, result.stdout, result.stderr) for result in results] == [
        (i % 200, f"{i}\n", f"{i}\n") for i in range(300)
    ]


def test_event_loop_closed_without_cleanup_produces_no_warning() -> None:
    program = """
        import asyncio, nacre
        for _ in range(3):
            loop = asyncio.new_event_loop()
            print(loop.run_until_complete(nacre.run("echo hi")).stdout, end="")
            loop.close()
    """
    assert run_host(program) == "hi\n" * 3


def test_next_run_works_after_an_event_loop_is_closed_during_a_run(life: Lifeline) -> None:
    program = """
        import asyncio, nacre, sys
        async def main():
            asyncio.create_task(nacre.run(sys.argv[1]))
            stream = nacre.Bash().stream("echo hi; sleep 999")
            async for event in stream:
                if isinstance(event, nacre.Chunk):
                    print(event.text, end="")
                    break
        asyncio.run(main())
        print(nacre.run_sync("echo next").stdout, end="")
    """
    assert run_host(program, f"{life.hold} sleep 999") == "hi\nnext\n"
