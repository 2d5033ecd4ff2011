"""Programs that run out of descriptors or processes: `python -c 'from faults.starved import …'`.

Each tries to run commands and tasks meanwhile. It prints `good` if every one of them ran as it should or reported why
it could not and what to do, and if all is well once there is plenty again.
"""

from __future__ import annotations

import asyncio
import os
import resource
from contextlib import suppress

import nacre.execution.passthrough  # imported now: without descriptors, `call` could not (see `_ready`)
import nacre.toolcall.parse  # noqa: F401
from faults.count import COUNT, COUNTED, HANG_TIMEOUT_S
from nacre import Bash, InvalidRequest, Limits, Request, ToolContext
from nacre.errors import KeeperFailed
from nacre.execution.finish import collect_result
from nacre.result import Exited, NotStarted, Result, Running, TimedOut
from nacre.tasks import Tasks
from nacre.types import Access, Leftovers
from nacre.views.answers import preload
from tests.support.descriptors import limit_descriptors, no_descriptor_left
from tests.support.processes import end, limit_processes, no_process_left

preload(Bash().profile.view)
_NORMAL_MAX_FDS = 1024
_FORK_TIMEOUT_S = 0.7
"""Timeout in seconds for a command that forks: bash retries for a while if fork fails."""


def few_descriptors(store: str, soft: str, access: Access) -> None:
    """Too few descriptors for all commands at once."""

    async def program() -> None:
        bash = _ready(access)
        limit_descriptors(int(soft))
        await asyncio.gather(*(_attempt(bash, store, number, access) for number in range(20)))
        limit_descriptors(_NORMAL_MAX_FDS)
        await _check_recovery(bash, store)

    asyncio.run(program())


def few_for_the_keeper(store: str, hard: str, access: Access) -> None:
    """Enough descriptors for a keeper, but never enough for all commands at once."""

    async def program() -> None:
        bash = _ready(access)
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(hard), int(hard)))
        await asyncio.gather(*(_attempt(bash, store, number, access) for number in range(20)))
        await _check_recovery(bash, store)

    asyncio.run(program())


def no_descriptors(store: str, cold: str, access: Access) -> None:
    """No descriptor at all, then one, then two…; while a command runs, or before there is a keeper."""

    async def program() -> None:
        bash = _ready(access)
        limit_descriptors(120)
        running = bash.stream(COUNT)
        if not cold:
            await anext(running)
        with no_descriptor_left() as held:
            for number in range(12):
                await _attempt(bash, store, number, access)
                os.close(held.pop())
        result = await collect_result(running)
        assert (result.outcome, result.output) == (Exited(7), COUNTED), result
        await _check_recovery(bash, store)

    asyncio.run(program())


def too_few_descriptors(_: str, hard: str, __: Access) -> None:
    """Permanently fewer descriptors than a keeper needs."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(hard), int(hard)))
    said = ""
    try:
        asyncio.run(Bash().run("echo hi"))
    except KeeperFailed as error:
        said = str(error)
    print("good" if "ulimit -Hn" in said else said)


def no_processes(store: str, room: str, cold: str) -> None:
    """All processes that the user may have exist, then all but one, but two…; `cold`: before there is a keeper."""

    async def program() -> None:
        limit_processes(int(room))
        bash = Bash()
        if not cold:
            assert (await bash.run("echo warm")).output == "warm\n"
        with no_process_left() as held:
            for number in range(2):
                await _attempt(bash, store, number)
                if held:
                    end(held.pop())
        await _check_recovery(bash, store)

    asyncio.run(program())


def _ready(access: Access) -> Bash:
    """Import the sandbox code, which is otherwise imported by the first command, or raises OSError."""
    bash = Bash(max_running=60)
    bash.constraints(ToolContext(access=access))
    return bash


async def _attempt(bash: Bash, store: str, number: int, access: Access = "unrestricted") -> None:
    """Try a command, one with a dedicated keeper, one with leftovers, a task, and a call as a model makes it."""
    ctx = ToolContext(output_dir=store, access=access, limits=Limits(tasks=1000))
    leftovers: Leftovers
    for leftovers in ("keep", "detach"):
        result = await bash.run(Request(f"echo {number}; exit 7", timeout=HANG_TIMEOUT_S, leftovers=leftovers), ctx)
        assert _not_started(result) or (result.outcome, result.output) == (Exited(7), f"{number}\n"), result
    result = await bash.run(Request("echo x | cat; sleep 0.1 & exit 7", timeout=_FORK_TIMEOUT_S), ctx)
    assert _not_started(result) or isinstance(result.outcome, Exited | TimedOut), result
    with suppress(InvalidRequest):  # no descriptor for its directory
        result = await bash.run(Request(COUNT, mode="background", timeout=HANG_TIMEOUT_S), ctx)
        assert _not_started(result) or isinstance(result.outcome, Exited | Running), result
    answer = await bash.call({"command": f"echo {number}"}, ctx)
    assert answer.text == str(number) or "could not start" in answer.text, answer


def _not_started(result: Result) -> bool:
    """Return true if it was not started and the result says what to do."""
    return isinstance(result.outcome, NotStarted) and bool(result.outcome.hint)


async def _check_recovery(bash: Bash, store: str) -> None:
    tasks = Tasks(store)
    listed = [task.id for task in tasks.list()] if os.path.isdir(store) else []
    if listed:
        await tasks.wait(listed, timeout=HANG_TIMEOUT_S)
    for id in listed:
        assert tasks.get(id).state == "ended", tasks.get(id)
    result = await bash.run("echo fine | cat; exit 7")
    assert (result.outcome, result.output) == (Exited(7), "fine\n"), result
    print("good")
