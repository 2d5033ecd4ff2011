"""A keeper that is killed and replaced while commands are on their way to it: none is run twice, none is forgotten.

So with one of those that are forked off for commands that may become tasks, and take one such command after another.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections import Counter
from contextlib import suppress

from faults.count import GRACE, PATIENCE
from faults.round import Round, need
from nacre import Bash, Cancel, Request, Result, ToolContext
from nacre.frozen import replace
from nacre.keeper.client import client
from nacre.profiles import DEFAULT
from nacre.result import Cancelled, Exited, Lost, Running
from tests.support.census import children, state, status
from tests.support.waiting import until

_COMMANDS = 8
_THREADS, _EACH, _KILLS = 3, 8, 3


async def unheard(round: Round) -> None:
    """The keeper, before it has heard of any of them: the next one runs them, but for those that are called off."""
    await round.bash.run("true")
    keeper = round.keeper
    os.kill(keeper, signal.SIGSTOP)
    await until(lambda: state(keeper) == "T", "it to stand still")
    cancel, running = Cancel(), dict[int, asyncio.Future[Result]]()
    kept = {number for number in range(_COMMANDS) if round.random.random() < 0.6}
    for number in range(_COMMANDS):
        access = round.random.choice(round.bash.access_modes[:2])
        ctx = replace(round.ctx, access=access, working_dir=round.place, cancel=None if number in kept else cancel)
        how = round.random.choice((Request(""), Request("", yield_after=5), Request("", mode="background")))
        running[number] = asyncio.ensure_future(round.bash.run(replace(how, command=_noting(round, number)), ctx))
    await round.moment(0.05)
    os.kill(keeper, signal.SIGKILL)
    await round.moment(0.1)
    cancel.cancel()
    results = await asyncio.wait_for(asyncio.gather(*running.values()), PATIENCE)
    tasks = [result.outcome.task for result in results if isinstance(result.outcome, Running)]
    await round.tasks.wait(tasks, timeout=PATIENCE)
    ran = _noted(round)
    need(not ran or max(ran.values()) == 1, f"run more than once: {ran}")
    for number, result in enumerate(results):
        fine = isinstance(result.outcome, Running) or result.outcome == Exited(0)
        need(fine or (number not in kept and result.outcome == Cancelled()), f"{number}: {result.summary}")
        need(number in ran or number not in kept, f"{number} was not run: {result.summary}")


async def threads(round: Round) -> None:
    """The keeper, again and again, while threads with event loops of their own have commands run."""
    going = [asyncio.ensure_future(asyncio.to_thread(_commands, round, first)) for first in range(_THREADS)]
    for _ in range(_KILLS):
        await round.moment(0.1)
        with suppress(ProcessLookupError):  # a thread has found the last one dead, and the next is not there yet
            os.kill(client().pid, signal.SIGKILL)
    _ran_once(round, dict(pair for each in await asyncio.wait_for(asyncio.gather(*going), PATIENCE) for pair in each))


async def heirs(round: Round) -> None:
    """One that was forked off, again and again, while it has a command or waits for the next."""

    async def commands(first: int) -> list[tuple[int, Result]]:
        told = []
        for number in range(first, first + _EACH * 2, 2):
            access = round.random.choice(round.bash.access_modes[:2])
            ctx = replace(round.ctx, access=access, working_dir=round.place)
            told.append((number, await round.bash.run(Request(_noting(round, number), yield_after=5), ctx)))
        return told

    going = [asyncio.ensure_future(commands(first)) for first in range(2)]
    for _ in range(_KILLS):
        await round.moment(0.1)
        forked = [pid for pid in children(round.keeper) if status(pid).get("Name") == "nacre-task"]
        for pid in forked[: round.random.randint(1, 2)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    _ran_once(round, dict(pair for each in await asyncio.wait_for(asyncio.gather(*going), PATIENCE) for pair in each))


def _ran_once(round: Round, told: dict[int, Result]) -> None:
    """Each of them, or it is said to be lost."""
    ran = _noted(round)
    need(not ran or max(ran.values()) == 1, f"run more than once: {ran}")
    for number, result in told.items():
        whole = (result.outcome, result.stdout) == (Exited(0), f"{number}\n") and number in ran
        need(whole or isinstance(result.outcome, Lost), f"{number}: {result.summary}, {result.stdout!r}")


def _commands(round: Round, first: int) -> list[tuple[int, Result]]:
    async def one_after_another() -> list[tuple[int, Result]]:
        bash = Bash(replace(DEFAULT, grace=GRACE))
        numbers = range(first, first + _EACH * _THREADS, _THREADS)
        return [(number, await bash.run(_noting(round, number), ToolContext())) for number in numbers]

    return asyncio.run(one_after_another())


def _noting(round: Round, number: int) -> str:
    return f"echo {number} >> {shlex.quote(str(round.place / 'ran'))}; sleep 0.02; echo {number}"


def _noted(round: Round) -> Counter[int]:
    """How often each has run."""
    note = round.place / "ran"
    return Counter(map(int, note.read_text().split())) if note.exists() else Counter()
