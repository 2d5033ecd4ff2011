"""SIGSTOP and, after a while, SIGCONT: of the host program, its keeper, a task's keeper, a task's shell."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

from faults.count import COUNT, COUNTED, GRACE, HANG_TIMEOUT_S, STUBBORN
from faults.round import Round, need
from nacre import Request
from nacre.result import Exited, TimedOut
from tests.support.hosts import started_host

_TERM_IGNORING_COMMAND = f"trap '' TERM; {STUBBORN}; echo $$ >&2; sleep 300"
"""None of its processes exits before SIGKILL."""
_HOST = """
    import asyncio, sys
    from dataclasses import replace
    from nacre import Bash, Request
    from nacre.profiles import DEFAULT
    from tests.support.census import is_alive
    async def main():
        bash = Bash(replace(DEFAULT, grace=float(sys.argv[3])))
        print("ready", flush=True)
        late, counted = await asyncio.gather(
            bash.run(Request(sys.argv[2], timeout=0.2)), bash.run(Request(sys.argv[1], timeout=60))
        )
        alive = [pid for pid in late.stderr.split() if is_alive(int(pid))]
        print(late.summary, alive, counted.summary, counted.output, sep="\\n", end="")
    asyncio.run(main())
"""


async def host(round: Round) -> None:
    """Stop the program: its keeper enforces deadlines, no process of the timed-out command is left, however stubborn,
    and the program gets all output printed meanwhile."""
    with started_host(_HOST, COUNT, _TERM_IGNORING_COMMAND, GRACE) as program:
        await round.wait_until_ready(program)
        program.send_signal(signal.SIGSTOP)
        await round.sleep_randomly()
        program.send_signal(signal.SIGCONT)
        said, _ = await asyncio.to_thread(program.communicate, timeout=HANG_TIMEOUT_S)
    need(said.removeprefix("ready\n") == f"timed out after 0.2 s\n[]\nexit 7\n{COUNTED}", f"it printed {said!r}")


async def others(round: Round) -> None:
    """Stop one of the others: nothing is lost or misreported, and what is late is killed as soon as possible."""
    task = await round.start_task()
    facts = round.facts(task)
    victim = round.random.choice((round.keeper, facts["keeper"][0], facts["pid"]))
    running = asyncio.ensure_future(round.bash.run(Request(COUNT, timeout=HANG_TIMEOUT_S)))
    late = asyncio.ensure_future(round.bash.run(Request(_TERM_IGNORING_COMMAND, timeout=0.2)))
    await round.sleep_randomly()
    with suppress(ProcessLookupError):  # the task has ended
        os.kill(victim, signal.SIGSTOP)
        await round.sleep_randomly()
        told = round.tasks.get(task)
        need(told.alive or told.outcome == Exited(7), f"the task is told to be {told.summary}")
        os.kill(victim, signal.SIGCONT)
    result = await asyncio.wait_for(running, HANG_TIMEOUT_S)
    need((result.outcome, result.output) == (Exited(7), COUNTED), f"the command: {result.summary}, {result.output!r}")
    ended = await asyncio.wait_for(late, HANG_TIMEOUT_S)
    need(isinstance(ended.outcome, TimedOut), f"what was late: {ended.summary}")
    await round.is_gone(ended)
    await round.has_counted(task)
