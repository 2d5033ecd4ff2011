"""The kinds of runs in a soak test: each function makes one run and returns whether its outcome is as expected."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from nacre import Bash, Cancel, Request, Session, ToolContext
from nacre.result import Cancelled, Chunk, Ended, Exited, Result, Running, TimedOut
from nacre.tasks import Tasks


@dataclass(frozen=True)
class Soaked:
    """Objects shared by the runs of a soak."""

    bash: Bash
    tasks: Tasks
    reasons: list[str] = field(default_factory=list)
    """Outcomes and notes of the last commands with an unexpected outcome."""

    def judge(self, result: Result, right: bool) -> bool:
        """Return `right`, and record the outcome and notes of a wrong result."""
        if not right:
            remarks = [
                remark for remark in result.notes if "keeps running as task" not in remark
            ]  # that note contains an id
            self.reasons.append(" ".join([f"{result.outcome}", *remarks]))
        return right

    def order(self, count: int, seed: int) -> Iterator[str]:
        weights = [kind.weight for kind in KINDS.values()]
        return iter(random.Random(seed).choices(list(KINDS), weights, k=count))


@dataclass(frozen=True)
class Kind:
    run: Callable[[Soaked], Awaitable[bool]]
    weight: int


async def _exit(here: Soaked) -> bool:
    result = await here.bash.run("echo out; echo err >&2; exit 7")
    return result.outcome == Exited(7) and (result.stdout, result.stderr) == ("out\n", "err\n")


async def _much(here: Soaked) -> bool:
    """More than a pipe holds, less than is kept in memory."""
    result = await here.bash.run("head -c 300000 /dev/zero")
    return result.outcome == Exited(0) and result.both.total_bytes == 300_000 and result.spill is None


async def _spill(here: Soaked) -> bool:
    """Read the spill and remove it."""
    result = await here.bash.run("head -c 3000000 /dev/zero")
    if result.spill is None:
        return False
    size = os.stat(result.spill.path).st_size
    os.unlink(result.spill.path)
    return result.outcome == Exited(0) and size == result.both.total_bytes == 3_000_000


async def _timeout(here: Soaked) -> bool:
    result = await here.bash.run(Request("sleep 60 & sleep 60", timeout=0.05))
    return here.judge(result, result.outcome == TimedOut(0.05) and not result.running)


async def _cancel(here: Soaked) -> bool:
    cancel = Cancel()
    async for event in here.bash.stream("echo; sleep 60", ToolContext(cancel=cancel)):
        if isinstance(event, Chunk):
            cancel.cancel()
        elif isinstance(event, Ended):
            return event.result.outcome == Cancelled()
    return False


async def _drop(here: Soaked) -> bool:
    """Stop reading the output and close the stream."""
    async with aclosing(here.bash.stream("echo; sleep 60")) as events:
        async for event in events:
            if isinstance(event, Chunk):
                return True
    return False


async def _abandon(here: Soaked) -> bool:
    run = asyncio.create_task(here.bash.run("sleep 60"))
    await asyncio.sleep(0.005)
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run
    return run.cancelled()


async def _stdin(here: Soaked) -> bool:
    result = await here.bash.run(Request("wc -c", stdin="x" * 100_000))
    return result.outcome == Exited(0) and result.output.strip() == "100000"


async def _session(here: Soaked) -> bool:
    session = Session()
    await session.run("cd /; export A=1")
    return (await session.run('echo "$A $PWD"')).output == "1 /\n"


async def _run_restricted(here: Soaked) -> bool:
    """Use the private temporary directory of a restricted run."""
    result = await here.bash.run("echo text >$TMPDIR/file && cat $TMPDIR/file", ToolContext(access="restricted"))
    return result.outcome == Exited(0) and result.output == "text\n"


async def _leftover(here: Soaked) -> bool:
    result = await here.bash.run(Request("sleep 60 & echo done", leftovers="end"))
    return here.judge(result, result.output == "done\n" and len(result.killed_leftovers) == 1 and not result.running)


async def _run_adopted(here: Soaked) -> bool:
    """Leftovers become a task, which is then killed."""
    result = await here.bash.run("sleep 600 & echo done")
    if result.task is not None:
        await here.tasks.kill(result.task.id)
    return here.judge(result, result.outcome == Exited(0) and result.task is not None)


async def _background(here: Soaked) -> bool:
    result = await here.bash.run(Request("echo done", mode="background"))
    if result.task is None:
        return False
    await here.tasks.wait(result.task.id, timeout=30)
    return here.tasks.output(result.task.id).text == "done\n"


async def _run_promoted(here: Soaked) -> bool:
    """Exceed `yield_after`, so that the run becomes a task, which is then killed."""
    result = await here.bash.run(Request("echo early; sleep 600", yield_after=0.05))
    if result.task is not None:
        await here.tasks.kill(result.task.id)
    return here.judge(result, isinstance(result.outcome, Running) and result.outcome.promoted)


KINDS = {
    "exit": Kind(_exit, 40),
    "much": Kind(_much, 10),
    "spill": Kind(_spill, 4),
    "timeout": Kind(_timeout, 8),
    "cancel": Kind(_cancel, 6),
    "drop": Kind(_drop, 4),
    "abandon": Kind(_abandon, 4),
    "stdin": Kind(_stdin, 5),
    "session": Kind(_session, 4),
    "restricted": Kind(_run_restricted, 5),
    "leftover": Kind(_leftover, 4),
    "adopted": Kind(_run_adopted, 2),
    "background": Kind(_background, 2),
    "promoted": Kind(_run_promoted, 2),
}
