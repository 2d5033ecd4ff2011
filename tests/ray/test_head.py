"""The head of a cluster dies: the program survives, every caller gets an error, and no process stays alive."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.census import MARK
from tests.support.lifeline import Gate, Lifeline

_LONG = 60.0
_MINUTE = 65
"""Seconds after which Ray would have killed the program."""
_CLUSTER = """
import json, sys
from ray.cluster_utils import Cluster

like = {"num_cpus": 2, "object_store_memory": 80 * 1024 * 1024}
cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, "labels": {"role": "head"}, **like})
cluster.add_node(labels={"role": "other"}, **like)
processes = cluster.head_node.all_processes
pids = [each.process.pid for kind in ("gcs_server", "raylet") for each in processes[kind]]
print(json.dumps([cluster.address, pids]), flush=True)
sys.stdin.read()
cluster.shutdown()
"""
_DRIVER = """
import asyncio, sys, time
import ray
from nacre import Bash
from nacre.engines.ray import RayEngine, RayTasks
from nacre.errors import EngineUnavailable
from nacre.result import Chunk
from nacre.execution.finish import collect_result

address, minute, stays, ends = sys.argv[1:]


async def begun(stream):
    while not isinstance(await anext(stream), Chunk):
        continue
    return stream


async def told(what):
    try:
        print(type((await what).outcome).__name__, flush=True)
    except EngineUnavailable as error:
        print(error, flush=True)


async def main():
    on_head, other = (RayEngine(address, num_cpus=0.1, label_selector={"role": role}) for role in ("head", "other"))
    full = RayEngine(address, num_cpus=2, label_selector={"role": "other"})
    streams = [await begun(Bash(engine=engine).stream(stays)) for engine in (on_head, other)]
    short = await begun(Bash(engine=other).stream(ends))
    queued = asyncio.create_task(Bash(engine=full).run("true"))
    print("begun", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    since = time.monotonic()
    await told(Bash(engine=other).run("true"))
    await told(queued)
    await told(RayTasks(other).list())
    print("told", flush=True)
    print((await collect_result(short)).outcome)
    for stream in streams:
        await told(collect_result(stream))
    await asyncio.wait([asyncio.create_task(told(Bash(engine=other).run("true")))])
    await asyncio.wait([asyncio.Future()], timeout=max(0, since + float(minute) - time.monotonic()))
    for engine in (on_head, other, full):
        await engine.aclose()
    ray.shutdown()
    await told(Bash(engine=RayEngine(address)).run("true"))


asyncio.run(main())
print("over")
"""


@contextmanager
def cluster(env: dict[str, str]) -> Iterator[tuple[str, list[int]]]:
    """Start a cluster of two nodes; yield its address and the PIDs of the head's processes that run it."""
    words, pipe = [sys.executable, "-c", _CLUSTER], subprocess.PIPE
    # as long as the nodes wait for a head before they exit: a minute by default
    own = {**env, "RAY_gcs_rpc_server_reconnect_timeout_s": "40"}
    del own[MARK]  # an unused worker of Ray may stay alive for longer than that
    with subprocess.Popen(words, env=own, text=True, stdin=pipe, stdout=pipe) as program:
        try:
            assert program.stdout is not None
            address, pids = json.loads(program.stdout.readline())
            yield address, pids
            program.communicate(timeout=_LONG)
        finally:
            program.kill()


async def test_death_of_the_head_fails_calls_and_the_program_survives(life: Lifeline, gate: Gate) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    env |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    stays, ends = f"{life.hold} echo begun; (setsid sleep 300 &); sleep 300", f"echo begun; {gate.wait}; exit 3"
    with cluster(env) as (address, pids):
        driver = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _DRIVER, address, str(_MINUTE), stays, ends),
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            assert driver.stdin is not None
            assert driver.stdout is not None
            lines = driver.stdout

            async def read_line() -> str:
                return (await asyncio.wait_for(lines.readline(), 2 * _LONG)).decode().strip()

            assert await read_line() == "begun"
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            driver.stdin.write(b"\n")
            silent = f"The head of the Ray cluster ({address}) has not answered for "
            async with asyncio.timeout(_LONG / 2):  # Ray itself reports it after a minute
                assert [silent in await read_line() for _ in range(3)] == [True] * 3
                assert await read_line() == "told"
            gate.open()
            assert [await read_line() for _ in range(3)] == ["Exited(code=3)", "Lost", "Lost"]
            assert silent in await read_line()
            assert f"Cannot reach a Ray cluster at {address}: " in await read_line()
            assert await read_line() == "over"
            assert await asyncio.wait_for(driver.wait(), _LONG) == 0
        finally:
            if driver.returncode is None:
                driver.kill()
                await driver.wait()
        await life.wait_until_ended(within=_LONG)
