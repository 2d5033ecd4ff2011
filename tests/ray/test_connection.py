"""Leaving a cluster, joining it again, and addresses without a cluster."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.ray.conftest import Machines

_LONG = 60.0
_PROGRAM = """
import asyncio, os, sys
import ray
from nacre import Bash, Request
from nacre.engines.ray import RayEngine
from nacre.errors import EngineUnavailable
from nacre.result import Chunk, Running
from nacre.execution.finish import collect_result

address = sys.argv[1]
join = lambda: ray.init(address, log_to_driver=False, logging_level="ERROR")


async def begun(stream):
    while not isinstance(await anext(stream), Chunk):
        continue
    return stream


"""
_LEAVES = """
async def main():
    join()
    bash = Bash(engine=RayEngine(address, num_cpus=0.1, retries=int(sys.argv[2])))
    waits = Bash(engine=RayEngine(address, num_cpus=1000))
    streams = [await begun(bash.stream(f"echo {n}; sleep 300")) for n in range(3)]
    task = await bash.run(Request("sleep 1", mode="background"))
    assert isinstance(task.outcome, Running), task
    queued = asyncio.create_task(waits.run("true"))
    await asyncio.wait([queued], timeout=2)
    ray.shutdown()
    for stream in streams:
        result = await collect_result(stream)
        print(result.outcome.reason, result.out.text, end="")
    try:
        await queued
    except EngineUnavailable as error:
        print(error.message)
    print(ray.is_initialized())
    print((await bash.run("echo back")).out.text, end="")
    await bash.engine.aclose()
    await waits.engine.aclose()


asyncio.run(main())
"""
_JOINS_AGAIN = """
async def main():
    join()
    used, unused = (RayEngine(address, num_cpus=0.1) for _ in range(2))
    for engine in (used, unused):
        await Bash(engine=engine).run("true")
    stream = await begun(Bash(engine=used).stream("echo part; sleep 300"))
    ray.shutdown()
    join()
    result = await collect_result(stream)
    print(result.outcome.reason, result.out.text, end="")
    for word in ("one", "two"):
        print((await Bash(engine=used).run(f"echo {word}")).out.text, end="")
    for engine in (used, unused):
        await engine.aclose()
    print("closed")


asyncio.run(main())
"""


async def run_program(program: str, *arguments: str, **variables: str) -> list[str]:
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=2 * _LONG,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("retries", ["0", "1"])
async def test_leaving_the_cluster_loses_runs_but_keeps_their_output(machines: Machines, retries: str) -> None:
    """Nothing reconnects until the next run, although Ray would."""
    left = "this program has left the Ray cluster"
    lost = [f"{left} {n}" for n in range(3)]
    told = await run_program(_PROGRAM + _LEAVES, machines.address, retries)
    assert told == [*lost, "This program has left the Ray cluster.", "False", "back"]


async def test_program_that_rejoins_the_cluster_can_run_again(machines: Machines) -> None:
    told = await run_program(_PROGRAM + _JOINS_AGAIN, machines.address)
    assert told == ["this program has left the Ray cluster part", "one", "two", "closed"]


_POLL_PROGRAM = """
async def main():
    engine = RayEngine(address, patience=float(sys.argv[2]))
    run = asyncio.create_task(Bash(engine=engine).run("true"))
    await asyncio.wait([run], timeout=float(sys.argv[3]))
    run.cancel()
    await asyncio.wait([run])
    print("given up" if run.cancelled() else run.exception())


asyncio.run(main())
print("over")
"""


async def test_refused_connection_is_reported_as_no_cluster() -> None:
    told = await run_program(_PROGRAM + _POLL_PROGRAM, "127.0.0.1:1", "50", "50")
    assert "Cannot reach a Ray cluster at 127.0.0.1:1: " in told[0]
    assert "Connection refused" in told[0]


@pytest.fixture
def silent_listener() -> Iterator[str]:
    """Yield the address of a listener that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


async def test_silent_cluster_is_reported_after_the_timeout(silent_listener: str) -> None:
    told = await run_program(_PROGRAM + _POLL_PROGRAM, silent_listener, "1", "50")
    assert f"Cannot reach a Ray cluster at {silent_listener}: no answer in 1 seconds." in told[0]
    assert told[1] == "over"


async def test_cancelled_connection_to_a_silent_cluster_lets_the_program_exit(silent_listener: str) -> None:
    assert await run_program(_PROGRAM + _POLL_PROGRAM, silent_listener, "1000", "1") == ["given up", "over"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signal_ends_the_cli_while_it_connects_to_the_cluster(number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_LONG)
        program = [sys.executable, "-m", "nacre", "run", "--engine", "ray", "true"]
        env = {**os.environ, "RAY_ADDRESS": f"127.0.0.1:{server.getsockname()[1]}"}
        nacre = subprocess.Popen(program, env=env, stderr=subprocess.PIPE)
        try:
            (await asyncio.to_thread(server.accept))[0].close()  # the driver has connected
            nacre.send_signal(number)
            assert await asyncio.to_thread(nacre.wait, _LONG) == 128 + number
        finally:
            nacre.kill()
            nacre.communicate()
