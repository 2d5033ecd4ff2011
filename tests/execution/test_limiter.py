"""RunLimiter: a limit on concurrent runs, served in order of arrival, across threads and event loops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import threading
from pathlib import Path

import pytest

from nacre import Bash, Cancel
from nacre.execution.limiter import RunLimiter, default_capacity
from tests.support.queue import in_queue
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop, until


async def wait_at(gate: RunLimiter, cancel: Cancel | None = None) -> asyncio.Task[bool]:
    """Start a task that waits in the queue."""
    return await in_queue(gate, gate.acquire(cancel))


async def test_limiter_admits_as_many_runs_as_it_has_slots() -> None:
    gate = RunLimiter(2)
    assert [await gate.acquire(), await gate.acquire()] == [True, True]
    third = await wait_at(gate)
    assert not third.done()
    gate.release()
    assert await asyncio.wait_for(third, HANG_TIMEOUT_S)


async def test_queued_runs_are_admitted_in_order() -> None:
    gate, order = RunLimiter(1), []
    await gate.acquire()

    async def one(name: int) -> None:
        await gate.acquire()
        order.append(name)
        gate.release()

    tasks = [await in_queue(gate, one(name)) for name in range(10)]
    gate.release()
    await asyncio.wait_for(asyncio.gather(*tasks), HANG_TIMEOUT_S)
    assert order == list(range(10))


async def test_newcomer_does_not_overtake_queued_runs() -> None:
    gate = RunLimiter(1)
    await gate.acquire()
    first = await wait_at(gate)
    gate.release()
    second = await wait_at(gate)
    assert await asyncio.wait_for(first, HANG_TIMEOUT_S)
    assert not second.done()
    gate.release()
    assert await asyncio.wait_for(second, HANG_TIMEOUT_S)


async def test_cancelled_waiter_leaves_the_queue() -> None:
    gate = RunLimiter(1)
    await gate.acquire()
    gone, patient = await wait_at(gate), await wait_at(gate)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    gate.release()
    assert await asyncio.wait_for(patient, HANG_TIMEOUT_S)
    gate.release()
    assert await asyncio.wait_for(gate.acquire(), HANG_TIMEOUT_S)


async def test_waiter_cancelled_as_it_is_admitted_releases_its_slot() -> None:
    gate = RunLimiter(1)
    await gate.acquire()
    unlucky = await wait_at(gate)
    gate.release()
    unlucky.cancel()
    with pytest.raises(asyncio.CancelledError):
        await unlucky
    assert await asyncio.wait_for(gate.acquire(), HANG_TIMEOUT_S)


async def test_waiter_whose_cancel_switch_is_thrown_leaves_the_queue() -> None:
    gate, cancel = RunLimiter(1), Cancel()
    await gate.acquire()
    gone, patient = await wait_at(gate, cancel), await wait_at(gate)
    cancel.cancel()
    assert await asyncio.wait_for(gone, HANG_TIMEOUT_S) is False
    gate.release()
    assert await asyncio.wait_for(patient, HANG_TIMEOUT_S)


async def test_cancel_switch_thrown_on_admission_loses_no_slot() -> None:
    gate, cancel = RunLimiter(1), Cancel()
    await gate.acquire()
    task = await wait_at(gate, cancel)
    gate.release()
    cancel.cancel()
    if await asyncio.wait_for(task, HANG_TIMEOUT_S):
        gate.release()
    assert await asyncio.wait_for(gate.acquire(), HANG_TIMEOUT_S)


async def test_slot_is_held_inside_its_block_and_released_after_an_error() -> None:
    gate, cancel = RunLimiter(1), Cancel()
    with contextlib.suppress(ValueError):
        async with gate.slot() as admitted:
            assert admitted
            waiting = await wait_at(gate)
            raise ValueError
    assert await asyncio.wait_for(waiting, HANG_TIMEOUT_S)
    cancel.cancel()
    async with gate.slot(cancel) as admitted:
        assert not admitted
    assert not (await wait_at(gate)).done()


async def test_acquire_with_a_thrown_cancel_switch_does_not_queue() -> None:
    gate, cancel = RunLimiter(1), Cancel()
    cancel.cancel()
    assert await gate.acquire(cancel) is False
    assert await gate.acquire() is True


def test_waiter_of_a_closed_event_loop_keeps_no_slot() -> None:
    gate = RunLimiter(1)
    asyncio.run(gate.acquire())

    async def queue_up() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)  # "Task was destroyed but it is pending": expected here
        await wait_at(gate)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(queue_up())
    loop.close()
    gc.collect()
    gate.release()

    async def enter() -> bool:
        return await asyncio.wait_for(gate.acquire(), HANG_TIMEOUT_S)

    assert asyncio.run(enter())


def test_slots_are_shared_by_threads_with_their_own_event_loops() -> None:
    gate, lock = RunLimiter(3), threading.Lock()
    inside, most = 0, 0

    async def one() -> None:
        nonlocal inside, most
        await asyncio.wait_for(gate.acquire(), HANG_TIMEOUT_S)
        with lock:
            inside += 1
            most = max(most, inside)
        await turn_loop()  # any other waiter that could be admitted is admitted now
        with lock:
            inside -= 1
        gate.release()

    async def many() -> None:
        await asyncio.gather(*(one() for _ in range(50)))

    threads = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_TIMEOUT_S)
    assert not any(thread.is_alive() for thread in threads)
    assert inside == 0
    assert most <= 3


async def test_bash_never_runs_more_than_max_running_at_once(tmp_path: Path) -> None:
    bash = Bash(max_running=2)
    text = f"cd '{tmp_path}'; touch run-$$; ls run-* | wc -l; sleep 0.05; rm run-$$"
    results = await asyncio.gather(*(bash.run(text) for _ in range(12)))
    counts = [int(result.stdout) for result in results]
    assert all(result.ok for result in results)
    assert max(counts) <= 2


async def test_run_that_fails_to_start_releases_its_slot() -> None:
    from nacre import Request

    bash = Bash(max_running=1)
    for _ in range(3):
        assert not (await bash.run(Request("true", env={"HUGE": "x" * 4_000_000}))).ok
    assert (await asyncio.wait_for(bash.run("true"), HANG_TIMEOUT_S)).ok


async def test_abandoned_stream_releases_its_slot() -> None:
    bash = Bash(max_running=1)
    for _ in range(3):
        async for _event in bash.stream("sleep 60"):
            break
    assert (await asyncio.wait_for(bash.run("true"), HANG_TIMEOUT_S)).ok


@pytest.mark.parametrize("places", [0, -1])
def test_max_running_below_1_is_refused(places: int) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        Bash(max_running=places)


def test_default_capacity_follows_the_fd_limit() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        seen = []
        for soft in (40, 256, before[1]):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
            seen.append(default_capacity())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert seen[0] == 1
    assert 1 < seen[1] < 256 / 3
    assert seen == sorted(seen)


async def test_waiter_is_admitted_when_another_thread_releases_a_slot() -> None:
    gate = RunLimiter(1)
    await gate.acquire()
    waiting = await wait_at(gate)
    thread = threading.Thread(target=gate.release)
    thread.start()
    await until(waiting.done, "the place that another thread gave up")
    thread.join()
    assert waiting.result() is True
