"""The queue for leases. Runs without Ray, which it does not import."""

from __future__ import annotations

import asyncio
import threading

from nacre.engines.ray.placement.queue import LeaseQueue, LeaseWaiter
from nacre.engines.ray.placement.resources import Lease, engine_closed
from tests.support.waiting import HANG_TIMEOUT_S

ONE, TWO = Lease("a", None), Lease("b", None)


async def test_leases_are_given_in_arrival_order() -> None:
    queue = LeaseQueue()
    first, second = queue.join(), queue.join()
    assert (queue.give(ONE), queue.give(TWO), queue.give(ONE)) == (True, True, False)
    await asyncio.wait_for(asyncio.gather(first.notified, second.notified), HANG_TIMEOUT_S)
    assert (first.lease, second.lease) == (ONE, TWO)


async def test_lease_given_to_a_leaving_waiter_is_returned() -> None:
    queue = LeaseQueue()
    waiter = queue.join()
    assert queue.give(ONE)
    assert queue.leave(waiter) == ONE
    assert not queue.give(TWO)


async def test_waiter_that_left_is_skipped() -> None:
    queue = LeaseQueue()
    gone, stays = queue.join(), queue.join()
    assert queue.leave(gone) is None
    assert queue.give(ONE)
    assert stays.lease == ONE


async def test_waiter_that_gives_up_is_notified_and_keeps_an_earlier_lease() -> None:
    queue = LeaseQueue()
    given, waits = queue.join(), queue.join()
    queue.give(ONE)
    for waiter in (given, waits):
        queue.give_up(waiter)
        await asyncio.wait_for(waiter.notified, HANG_TIMEOUT_S)
    assert (given.lease, waits.lease, len(queue)) == (ONE, None, 0)


async def test_refuse_notifies_all_waiters() -> None:
    queue, error = LeaseQueue(), engine_closed()
    waiting = [queue.join() for _ in range(3)]
    queue.refuse(error)
    await asyncio.wait_for(asyncio.gather(*(waiter.notified for waiter in waiting)), HANG_TIMEOUT_S)
    assert [waiter.lease for waiter in waiting] == [error] * 3
    assert len(queue) == 0


async def test_waiter_of_a_closed_event_loop_is_skipped() -> None:
    queue = LeaseQueue()

    async def join() -> LeaseWaiter:
        return queue.join()

    other = threading.Thread(target=lambda: asyncio.run(join()))
    other.start()
    await asyncio.to_thread(other.join)
    here = queue.join()
    assert queue.give(ONE)
    await asyncio.wait_for(here.notified, HANG_TIMEOUT_S)
    assert here.lease == ONE
