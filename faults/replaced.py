"""Kill and replace a keeper while commands are being requested: no command runs twice, and none is forgotten.

The same is done to keepers that are forked for commands that may become tasks, and that run one such command after
another.
"""

from __future__ import annotations

import asyncio
import os
import select
import shlex
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from faults.count import GRACE, HANG_TIMEOUT_S
from faults.round import Round, need
from nacre import Bash, Cancel, Request, Result, ToolContext
from nacre.base.frozen import replace
from nacre.base.system import LINUX
from nacre.keeper.client.connection import KeeperConnection, keeper_connection
from nacre.profiles import DEFAULT
from nacre.result import Cancelled, Exited, Lost, Running
from tests.support.census import forked_keepers, is_alive, state
from tests.support.waiting import until

_COMMANDS = 8
_THREADS, _COMMANDS_PER_THREAD, _KILLS = 3, 8, 3
_GATED_COMMAND = 100
"""The number of the command that waits for the gate."""


async def kill_before_request(round: Round) -> None:
    """Kill the keeper before it has received any request: the next one runs them, except those that are cancelled."""
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
        running[number] = asyncio.ensure_future(
            round.bash.run(replace(how, command=_noting_command(round, number)), ctx)
        )
    await round.sleep_randomly(0.05)
    os.kill(keeper, signal.SIGKILL)
    await round.sleep_randomly(0.1)
    cancel.cancel()
    results = await asyncio.wait_for(asyncio.gather(*running.values()), HANG_TIMEOUT_S)
    tasks = [result.outcome.task for result in results if isinstance(result.outcome, Running)]
    await round.tasks.wait(tasks, timeout=HANG_TIMEOUT_S)
    ran = _count_notes(round)
    need(not ran or max(ran.values()) == 1, f"run more than once: {ran}")
    for number, result in enumerate(results):
        fine = isinstance(result.outcome, Running) or result.outcome == Exited(0)
        need(fine or (number not in kept and result.outcome == Cancelled()), f"{number}: {result.summary}")
        need(number in ran or number not in kept, f"{number} was not run: {result.summary}")


async def kill_keeper_under_threads(round: Round) -> None:
    """Kill the keeper repeatedly while threads with separate event loops run commands."""
    kills = _Kills(round)

    def pick_keeper(sure: bool) -> _Victims:
        keeper = keeper_connection()
        return {keeper.pid: partial(_is_channel_closed, keeper)}

    running = [asyncio.ensure_future(asyncio.to_thread(_run_commands, kills, first)) for first in range(_THREADS)]
    gated = await kills.kill_repeatedly(pick_keeper, Request(""), ToolContext())
    _check_ran_once(round, gated, await asyncio.wait_for(asyncio.gather(*running), HANG_TIMEOUT_S))


async def kill_standby_keepers(round: Round) -> None:
    """Kill a forked keeper repeatedly, while it has a command or waits for the next."""
    if not LINUX:
        pytest.skip("in portable mode no keeper returns to the pool, and none can be found by its name")
    kills, patient = _Kills(round), Request("", yield_after=HANG_TIMEOUT_S)

    def ctx() -> ToolContext:
        return replace(round.ctx, access=round.random.choice(round.bash.access_modes[:2]), working_dir=round.place)

    async def run_commands(first: int) -> list[_RunReport]:
        numbers = range(first, first + _COMMANDS_PER_THREAD * 2, 2)
        return [await kills.run_during_kills(round.bash, number, patient, ctx()) for number in numbers]

    def pick_keepers(sure: bool) -> _Victims:
        forked = forked_keepers(round.keeper)
        return dict.fromkeys(forked if sure else forked[: round.random.randint(1, 2)], lambda: True)

    running = [asyncio.ensure_future(run_commands(first)) for first in range(2)]
    gated = await kills.kill_repeatedly(pick_keepers, patient, ctx())
    _check_ran_once(round, gated, await asyncio.wait_for(asyncio.gather(*running), HANG_TIMEOUT_S))


_Victims: TypeAlias = dict[int, Callable[[], bool]]
"""By PID: a function that returns whether it can receive no more requests once it is dead."""


def _is_channel_closed(keeper: KeeperConnection) -> bool:
    """Return true if no process holds the other end of the channel. A shell that was being started may hold it for a
    moment; what is sent then is lost."""
    poll = select.poll()
    with suppress(OSError, ValueError):  # another thread has closed it
        poll.register(keeper.channel, 0)
        return bool(poll.poll(0))
    return True


class _RunReport(NamedTuple):
    number: int
    result: Result
    kills: int
    """Number of kills that may have hit it."""


class _Kills:
    def __init__(self, round: Round) -> None:
        self._round = round
        self._begun = self._over = 0

    async def kill_repeatedly(self, pick: Callable[[bool], _Victims], how: Request, ctx: ToolContext) -> _RunReport:
        """Kill at random moments, and once while a command is certainly running; return the report of that command.

        `pick` returns the keepers to kill; its argument says whether a command is certainly running.
        """
        sure = self._round.random.randrange(_KILLS)
        for _ in range(sure):
            await self._kill_after_random_sleep(pick)
        gated = asyncio.ensure_future(self.run_during_kills(self._round.bash, _GATED_COMMAND, how, ctx))
        await until(lambda: _GATED_COMMAND in _count_notes(self._round), "it to begin", within=HANG_TIMEOUT_S)
        await self._kill(pick(True))
        _gate_file(self._round).touch()
        # before the next kill, which might hit it before its end is recorded
        report = await asyncio.wait_for(gated, HANG_TIMEOUT_S)
        for _ in range(sure + 1, _KILLS):
            await self._kill_after_random_sleep(pick)
        return report

    async def _kill_after_random_sleep(self, pick: Callable[[bool], _Victims]) -> None:
        await self._round.sleep_randomly(0.1)
        await self._kill(pick(False))

    async def _kill(self, victims: _Victims) -> None:
        self._begun += len(victims)
        for pid in victims:
            with suppress(ProcessLookupError):  # a thread has seen it dead, and the next is not started yet
                os.kill(pid, signal.SIGKILL)
        await until(
            lambda: all(not is_alive(pid) and closed() for pid, closed in victims.items()),
            f"the end of {list(victims)}",
        )
        self._over += len(victims)

    async def run_during_kills(self, bash: Bash, number: int, how: Request, ctx: ToolContext) -> _RunReport:
        """Run a command, and count the kills meanwhile."""
        over = self._over
        result = await bash.run(replace(how, command=_noting_command(self._round, number)), ctx)
        return _RunReport(number, result, self._begun - over)


def _check_ran_once(round: Round, gated: _RunReport, others: list[list[_RunReport]]) -> None:
    """Check that each command ran exactly once or is reported lost. Losing it takes one kill if it has begun, and two
    if not, because it is requested a second time."""
    ran = _count_notes(round)
    need(not ran or max(ran.values()) == 1, f"run more than once: {ran}")
    need(isinstance(gated.result.outcome, Lost), f"killed in its midst: {gated.result.summary}")
    for number, result, kills in (gated, *chain.from_iterable(others)):
        whole = (result.outcome, result.stdout) == (Exited(0), f"{number}\n") and number in ran
        begun = result.pid is not None
        need(begun or number not in ran, f"{number} has run, but no start was reported: {result.summary}")
        lost = isinstance(result.outcome, Lost) and kills >= (1 if begun else 2)
        need(whole or lost, f"{number}: {result.summary}, {result.stdout!r}; begun: {begun}, kills: {kills}")


def _run_commands(kills: _Kills, first: int) -> list[_RunReport]:
    async def run_in_sequence() -> list[_RunReport]:
        bash = Bash(replace(DEFAULT, grace=GRACE))
        numbers = range(first, first + _COMMANDS_PER_THREAD * _THREADS, _THREADS)
        return [await kills.run_during_kills(bash, number, Request(""), ToolContext()) for number in numbers]

    return asyncio.run(run_in_sequence())


def _gate_file(round: Round) -> Path:
    """Return the file for which one command waits. It stays, so that a repeated run is not blocked."""
    return round.place / "open"


def _noting_command(round: Round, number: int) -> str:
    gate = f"until [ -e {shlex.quote(str(_gate_file(round)))} ]; do sleep 0.01; done"
    waits = gate if number == _GATED_COMMAND else "sleep 0.02"
    return f"echo {number} >> {shlex.quote(str(round.place / 'ran'))}; {waits}; echo {number}"


def _count_notes(round: Round) -> Counter[int]:
    """Return how often each command has run."""
    note = round.place / "ran"
    return Counter(map(int, note.read_text().split())) if note.exists() else Counter()
