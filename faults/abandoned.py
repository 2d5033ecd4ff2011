"""Kill keepers while their callers go away: the last process that remains must kill what is left."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

from faults.count import STUBBORN
from faults.round import Round
from nacre import Request
from nacre.base.frozen import replace
from nacre.keeper.client.connection import keeper_connection
from tests.support.census import forked_keepers
from tests.support.waiting import turn_loop

_CALLERS = 4
_LONG = 300


async def callers(round: Round) -> None:
    """Kill the keeper, and sometimes its forked keepers, shortly before or after the callers are cancelled."""
    await round.bash.run("true")
    kinds = (Request(""), Request("", yield_after=_LONG), Request("", leftovers="end"))
    requests = [round.random.choice(kinds) for _ in range(_CALLERS)]
    running = [asyncio.ensure_future(_consume(round, request)) for request in requests]
    await round.sleep_randomly(0.15)
    keeper = keeper_connection()
    forked = forked_keepers(keeper.pid)
    for pid in [keeper.pid, *(forked if round.random.random() < 0.4 else ())]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    # Runs that may become tasks have dedicated keepers: if all runs are such, nothing reads the other keeper's channel.
    if any(request.yield_after is None for request in requests) and round.random.random() < 0.5:
        while not keeper.dead:  # up to the iteration of the event loop in which the death is noticed
            await turn_loop()
    else:
        await round.sleep_randomly(0.06)
    for caller in running:
        caller.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def _consume(round: Round, request: Request) -> None:
    """Consume the output of a long command, sometimes slowly."""
    access = round.random.choice(round.bash.access_modes[:2])
    ctx = replace(round.ctx, access=access, working_dir=round.place)
    noisy = "while :; do echo x; sleep 0.01; done"
    command = round.random.choice((f"sleep {_LONG}", f"{STUBBORN}; sleep {_LONG}", noisy))
    pause = round.random.choice((0.0, 0.05))
    stream = round.bash.stream(replace(request, command=command, timeout=_LONG + 1), ctx)
    try:
        async for _ in stream:
            await asyncio.sleep(pause)
    finally:
        await stream.aclose()
