"""SIGKILL at random moments: of the host program, its keeper, a task's keeper, the shell."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

from faults.count import COUNT, COUNTED, HANG_TIMEOUT_S, STUBBORN
from faults.round import Round, need
from nacre import Request, ToolContext
from nacre.result import Cancelled, Ended, Exited, Lost, Outcome, Result, Running, Signalled, Started
from tests.support.hosts import started_host
from tests.support.waiting import until

_HOST = """
    import asyncio, sys
    from dataclasses import replace
    from nacre import Bash, Limits, Request, ToolContext
    from nacre.profiles import DEFAULT
    async def main():
        bash = Bash(replace(DEFAULT, grace=0.3))  # one of its commands takes all of it
        ctx = ToolContext(output_dir=sys.argv[1], limits=Limits(tasks=1000))
        async def tasks():
            for _ in range(3):
                result = await bash.run(Request(sys.argv[2], mode="background"), ctx)
                print(result.task.id, flush=True)
                result = await bash.run(Request(sys.argv[2], yield_after=0.05), ctx)
                if result.task is not None:
                    print(result.task.id, flush=True)
        async def commands():
            while True:
                await bash.run("setsid sleep 300 & yes | head -c 3000000; sleep 0.05 & sleep 0.01", ToolContext())
        print("ready", flush=True)
        await asyncio.gather(tasks(), commands(), bash.run("trap '' TERM; (setsid sleep 300 &); sleep 300"))
    asyncio.run(main())
"""


async def kill_host(round: Round) -> None:
    """Kill the program, or its process group, while it starts tasks and commands: its tasks keep running, all else is
    killed."""
    with started_host(_HOST, round.store, COUNT, own_group=True) as program:
        await round.wait_until_ready(program)
        if round.random.random() < 0.5:
            os.killpg(program.pid, signal.SIGKILL)
        else:
            program.kill()
        said, _ = await asyncio.to_thread(program.communicate)
    await round.has_counted(*(set(said.split()) - {"ready"}))
    for task in round.tasks.list() if round.store.is_dir() else ():  # a task whose start was not reported
        await round.tasks.wait(task.id, timeout=HANG_TIMEOUT_S)
        output = round.tasks.output(task.id)
        whole = (output.task.outcome, output.text) == (Exited(7), COUNTED)
        begun = output.task.outcome not in (Lost("it never started"), Cancelled())
        need(whole or not begun, f"{task.id}: {output.task.summary}")


async def kill_keeper(round: Round) -> None:
    """Kill the keeper of this program: a running command is lost and killed, sandboxed or not, and a running task
    continues.

    A task that is being started or promoted continues or never existed.
    """
    access = round.random.choice(round.bash.access_modes[:2])
    there = ToolContext(working_dir=round.place, access=access)
    task = await round.start_task()
    counting = Request(f"(setsid sleep 300 &); {round.counting_command()}; exit 7", leftovers="end")
    running = asyncio.ensure_future(round.bash.run(counting, there))
    others = [
        asyncio.ensure_future(round.bash.run(Request(COUNT, mode="background"), round.ctx)),
        asyncio.ensure_future(round.bash.run(Request(COUNT, yield_after=0.3 * round.random.random()), round.ctx)),
    ]
    await round.sleep_randomly(round.random.choice((0.02, 0.5, 0.8)))  # or after they exited, just before the next one
    os.kill(round.keeper, signal.SIGKILL)
    _check_output(round, await asyncio.wait_for(running, HANG_TIMEOUT_S), Lost)
    ids = {task}
    for result in await asyncio.wait_for(asyncio.gather(*others), HANG_TIMEOUT_S):
        whole = (result.outcome, result.output) == (Exited(7), COUNTED)
        need(whole or isinstance(result.outcome, Running | Lost), f"a task: {result.summary}, {result.output!r}")
        ids |= {result.task.id} if result.task is not None else set()
    await round.has_counted(*ids)
    listed = {each.id for each in round.tasks.list()}
    need(listed == ids, f"there are {listed}, not {ids}")


async def kill_task_keeper(round: Round) -> None:
    """Kill a task's keeper, sometimes together with the program's: the task is reported lost, and none of its processes
    lives."""
    other = await round.start_task()
    starting = asyncio.ensure_future(
        round.bash.run(
            Request(f"(setsid sleep 300 &); {round.counting_command()}; sleep 300", mode="background"), round.ctx
        )
    )
    newborn = round.random.random() < 0.3  # sometimes before its start was reported
    if not newborn:
        await asyncio.wait([starting])
    begun = (await until(lambda: _tasks_with_process_file(round) - {other}, "a task that has begun")).pop()
    if not newborn:
        await round.sleep_randomly()
    if round.random.random() < 0.3:
        os.kill(round.keeper, signal.SIGKILL)
    os.kill(round.facts(begun)["keeper"][0], signal.SIGKILL)
    task = (await asyncio.wait_for(starting, HANG_TIMEOUT_S)).task
    if task is not None:
        ended = (await round.tasks.wait(task.id, timeout=HANG_TIMEOUT_S)).tasks[0]
        need(isinstance(ended.outcome, Lost), f"the task: {ended.summary}")
        kept = round.tasks.output(task.id).text
        need(COUNTED.startswith(kept), f"its log has {kept!r}")
        ended = await round.tasks.kill(task.id, grace=0)
        need(not ended.running, f"{ended.running} could not be ended")
    await round.has_counted(other)
    there = {name for name in os.listdir(round.store) if not name.startswith(".")}
    need(there == {other} | ({task.id} if task else set()), f"there are {there}")


def _tasks_with_process_file(round: Round) -> set[str]:
    """Return the tasks that have recorded their processes."""
    return {path.parent.name for path in round.store.glob("*/process.json")}


async def kill_shell(round: Round) -> None:
    """Kill the shell of a command: that is its outcome, and its leftovers are killed with it, even stubborn ones."""
    result: Result | None = None
    request = Request(f"{STUBBORN}; {round.counting_command()}; exit 7", leftovers="end")
    async for event in round.bash.stream(request, ToolContext()):
        if isinstance(event, Started):
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(event.pid)
                await round.sleep_randomly()
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                os.close(handle)
        elif isinstance(event, Ended):
            result = event.result
    assert result is not None
    _check_output(round, result, Signalled)
    await round.is_gone(result)


def _check_output(round: Round, result: Result, kind: type[Outcome]) -> None:
    """Check that the result has all output printed before the kill, or all of it if the command was not killed."""
    whole = (result.outcome, result.stdout) == (Exited(7), COUNTED)
    cut = isinstance(result.outcome, kind) and COUNTED.startswith(result.stdout)
    need(whole or cut, f"the command: {result.summary}, {result.stdout!r}")
    need(
        result.stdout.startswith(round.read_notes()),
        f"it had printed {round.read_notes()!r}, and gave {result.stdout!r}",
    )
