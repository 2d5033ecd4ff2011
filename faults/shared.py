"""Ten programs with one task directory, some of which are killed."""

from __future__ import annotations

import asyncio
import signal
from contextlib import ExitStack

from faults.count import COUNT
from faults.round import Round, need
from nacre.result import Exited, Lost
from tests.support.hosts import started_host

_HOSTS = 10
_HOST = """
    import asyncio, sys
    from nacre import Bash, Limits, Request, ToolContext
    from nacre.tasks import Tasks
    async def main():
        bash, tasks = Bash(), Tasks(sys.argv[1])
        ctx = ToolContext(output_dir=sys.argv[1], limits=Limits(tasks=1000))
        for _ in range(2):
            result = await bash.run(Request(sys.argv[2], mode="background"), ctx)
            print(result.task.id, flush=True)
            tasks.list()
            tasks.clean()
        await tasks.wait([task.id for task in tasks.list(all=False)], timeout=60)
    asyncio.run(main())
"""


async def store(round: Round) -> None:
    """Each program starts tasks, lists all of them and cleans up; every reported task counts to its end."""
    with ExitStack() as stack:
        programs = [stack.enter_context(started_host(_HOST, round.store, COUNT)) for _ in range(_HOSTS)]
        await round.sleep_randomly(2.0)
        killed = round.random.sample(programs, 2)
        for program in killed:
            program.send_signal(signal.SIGKILL)
        said = await asyncio.gather(*(asyncio.to_thread(program.communicate) for program in programs))
        codes = {program.returncode for program in programs if program not in killed}
    need(codes == {0}, f"they exited with {codes}")
    ids = [id for text, _ in said for id in text.split()]
    need(len(set(ids)) == len(ids) >= 2 * (_HOSTS - 2), f"{len(ids)} tasks were started: {ids}")
    await round.has_counted(*ids)
    for task in round.tasks.list():
        await round.tasks.wait(task.id, timeout=60)
        told = round.tasks.get(task.id)
        need(told.outcome in (Exited(7), Lost("it never started")), f"{task.id}: {told.summary}")
