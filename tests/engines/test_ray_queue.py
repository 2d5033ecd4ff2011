"""The queue for leases. Runs without Ray, which it does not import."""

from __future__ import annotations

import asyncio
import threading

from nacre.engines.ray.placement.queue import LeaseQueue, LeaseWaiter
from nacre.engines.ray.placement.resources import Lease, engine_closed
from tests.support.waiting import HANG_TIMEOUT_S

ONE, TWO = Lease("a", None), Lease("b", None)


async def test_who_came_first_is_given_first() -> None:
    queue = LeaseQueue()
    first, second = queue.join(), queue.join()
    assert (queue.give(ONE), queue.give(TWO), queue.give(ONE)) == (True, True, False)
    await asyncio.wait_for(asyncio.gather(first.notified, second.notified), HANG_TIMEOUT_S)
    assert (first.lease, second.lease) == (ONE, TWO)


async def test_what_somebody_was_given_who_goes_at_the_same_moment_is_not_lost() -> None:
    queue = LeaseQueue()
    waiter = queue.join()
    assert queue.give(ONE)
    assert queue.leave(waiter) == ONE
    assert not queue.give(TWO)


async def test_who_has_gone_is_passed_over() -> None:
    queue = LeaseQueue()
    gone, stays = queue.join(), queue.join()
    assert queue.leave(gone) is None
    assert queue.give(ONE)
    assert stays.lease == ONE


async def test_who_gives_up_hears_that_it_is_over_and_has_what_he_was_given_before() -> None:
    queue = LeaseQueue()
    given, waits = queue.join(), queue.join()
    queue.give(ONE)
    for waiter in (given, waits):
        queue.give_up(waiter)
        await asyncio.wait_for(waiter.notified, HANG_TIMEOUT_S)
    assert (given.lease, waits.lease, len(queue)) == (ONE, None, 0)


async def test_all_are_refused_at_once() -> None:
    queue, error = LeaseQueue(), engine_closed()
    waiting = [queue.join() for _ in range(3)]
    queue.refuse(error)
    await asyncio.wait_for(asyncio.gather(*(waiter.notified for waiter in waiting)), HANG_TIMEOUT_S)
    assert [waiter.lease for waiter in waiting] == [error] * 3
    assert len(queue) == 0


async def test_who_waited_in_a_loop_that_is_closed_is_passed_over() -> None:
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
