"""A single engine in a program: its threads, its forks, and the warning about a cluster without authentication."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from nacre import Bash
from nacre.engines.ray import RayEngine
from nacre.engines.ray.cluster import connect
from tests.ray.conftest import Machines

_LONG = 60.0


async def test_one_engine_serves_many_event_loops(shared: RayEngine) -> None:
    bash = Bash(engine=shared)

    async def several(thread: int) -> list[str]:
        results = await asyncio.gather(*(bash.run(f"echo {thread} {n}") for n in range(5)))
        return [result.out.text for result in results]

    with ThreadPoolExecutor(4) as threads:
        loops = [threads.submit(asyncio.run, several(thread)) for thread in range(4)]
        told = [await asyncio.wait_for(asyncio.wrap_future(loop), _LONG) for loop in loops]
    assert told == [[f"{thread} {n}\n" for n in range(5)] for thread in range(4)]


_FORKS = """
import asyncio, os, sys, nacre
from nacre.engines.ray import RayEngine
from nacre.errors import EngineUnavailable

bash = nacre.Bash(engine=RayEngine(sys.argv[1], num_cpus=0.1))
print(asyncio.run(bash.run("echo before")).out.text, end="", flush=True)
child = os.fork()
if not child:
    try:
        asyncio.run(bash.run("echo never"))
    except EngineUnavailable as error:
        print(error, flush=True)
    asyncio.run(bash.engine.aclose())
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(asyncio.run(bash.run("echo after")).out.text, end="")
"""


async def test_forked_child_cannot_use_the_connection_of_its_parent(machines: Machines) -> None:
    program = [sys.executable, "-c", _FORKS, machines.address]
    done = await asyncio.to_thread(subprocess.run, program, capture_output=True, text=True, timeout=_LONG, check=True)
    before, told, code, after = done.stdout.splitlines()
    assert (before, code, after) == ("before", "7", "after")
    assert "does not survive a fork" in told


def test_cluster_without_authentication_gives_a_warning(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.warns(RuntimeWarning, match="no authentication: anyone who reaches its ports can run code"):
        connect.connect(machines.address, _LONG)
