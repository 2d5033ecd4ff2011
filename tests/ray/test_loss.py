"""A node or a driver dies: its runs are killed, and every caller gets an error."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nacre import Bash, Request, ToolContext
from nacre.engines.ray import RayEngine
from nacre.execution.finish import collect_result
from nacre.result import Chunk, Ended, Exited, Lost, Result
from tests.ray.conftest import Machines
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import until, until_steady

_LONG = 60.0


async def test_dead_node_loses_or_retries_its_runs_and_the_others_finish(
    machines: Machines, life: Lifeline, gate: Gate, tmp_path: Path
) -> None:
    """Its runs are lost, with their output so far, or retried if requested; all others finish; no process is left."""
    doomed = machines.add("doomed")
    once, again = RayEngine(num_cpus=0.05), RayEngine(num_cpus=0.05, retries=1)
    bash = [Bash(engine=once if n < 60 else again) for n in range(100)]
    texts = [
        f"{life.hold} echo {n}; if [ -e {tmp_path}/{n} ]; then echo again; else touch {tmp_path}/{n}; {gate.wait}; fi"
        for n in range(100)
    ]
    seen: set[int] = set()

    async def follow(n: int) -> Result:
        async for event in bash[n].stream(texts[n]):
            if isinstance(event, Chunk):
                seen.add(n)
            if isinstance(event, Ended):
                result = event.result
        return result

    runs = [asyncio.create_task(follow(n)) for n in range(100)]
    await until(lambda: len(seen) == 100, "a first word of each", within=_LONG)
    await asyncio.to_thread(machines.kill, doomed)
    await asyncio.wait(runs, timeout=_LONG, return_when=asyncio.FIRST_COMPLETED)
    gate.open(100)
    results = await asyncio.wait_for(asyncio.gather(*runs), _LONG)
    lost = [n for n, result in enumerate(results) if isinstance(result.outcome, Lost)]
    retried = [n for n, result in enumerate(results) if "again" in result.out.text]
    assert 0 < len(lost) < 60
    assert max(lost) < 60
    assert 0 < len(retried) < 40
    assert min(retried) >= 60
    for n, result in enumerate(results):
        assert isinstance(result.outcome, Lost) if n in lost else result.outcome == Exited(0)
        assert result.out.text == (f"{n}\n{n}\nagain\n" if n in retried else f"{n}\n")
    assert f"node {doomed.node_id[:8]}" in str(results[lost[0]].outcome)
    assert "was lost" in results[retried[0]].err.text
    assert any("was restarted from the beginning" in note for note in results[retried[0]].notes)
    await life.wait_until_ended(within=_LONG)
    await once.aclose()
    await again.aclose()


_DRIVER = """
import asyncio, sys, nacre
from nacre.engines.ray import RayEngine

asyncio.run(nacre.Bash(engine=RayEngine(sys.argv[1], num_cpus=0.1)).run(sys.argv[2]))
"""


async def test_killing_the_driver_kills_its_runs(machines: Machines, life: Lifeline) -> None:
    command = f"{life.hold} (setsid sleep 300 &); sleep 300"
    driver = subprocess.Popen([sys.executable, "-c", _DRIVER, machines.address, command])
    try:
        await life.wait_until_held(within=_LONG)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    await life.wait_until_ended(within=_LONG)


_IMPATIENT = """
import asyncio, sys, nacre
from nacre.engines.ray import RayEngine


async def main():
    run = asyncio.create_task(nacre.Bash(engine=RayEngine(sys.argv[1], num_cpus=1000)).run("true"))
    await asyncio.wait([run], timeout=5)  # connecting takes a while
    run.cancel()
    await asyncio.wait([run])


asyncio.run(main())
"""


async def test_driver_that_cancels_a_queued_run_exits_cleanly(machines: Machines) -> None:
    program = [sys.executable, "-c", _IMPATIENT, machines.address]
    driver = await asyncio.to_thread(subprocess.run, program, capture_output=True, text=True, timeout=_LONG)
    assert (driver.returncode, driver.stdout, driver.stderr) == (0, "", "")


async def test_closing_the_engine_kills_its_runs(machines: Machines, life: Lifeline) -> None:
    engine = RayEngine(num_cpus=0.1)
    run = asyncio.create_task(Bash(engine=engine).run(f"{life.hold} (setsid sleep 300 &); sleep 300"))
    await life.wait_until_held(within=_LONG)
    await engine.aclose()
    assert isinstance((await run).outcome, Lost)
    await life.wait_until_ended()


async def test_run_that_cannot_be_retried_is_lost_with_its_output(machines: Machines, life: Lifeline) -> None:
    alone = machines.add("alone")
    engine = RayEngine(num_cpus=0.1, node=alone.node_id, retries=3)
    stream = Bash(engine=engine).stream(f"{life.hold} echo precious; sleep 300")
    while not isinstance(await anext(stream), Chunk):
        continue
    await asyncio.to_thread(machines.kill, alone)
    result = await asyncio.wait_for(collect_result(stream), 2 * _LONG)
    assert isinstance(result.outcome, Lost)
    assert "was lost, and it could not be started again: " in result.outcome.reason
    assert (result.out.text, result.notes) == ("precious\n", ())
    await life.wait_until_ended(within=_LONG)
    await engine.aclose()


async def test_run_of_a_closed_engine_is_not_retried(machines: Machines, life: Lifeline) -> None:
    engine = RayEngine(num_cpus=0.1, retries=3)
    stream = Bash(engine=engine).stream(f"{life.hold} echo precious; sleep 300")
    while not isinstance(await anext(stream), Chunk):
        continue
    await engine.aclose()
    result = await asyncio.wait_for(collect_result(stream), _LONG)
    assert (result.outcome, result.out.text) == (Lost("its engine was closed"), "precious\n")
    await life.wait_until_ended(within=_LONG)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (
            {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64},
            " rejected the token of this process, from ",
        ),
        ({}, " requires a token, and this process has none."),
        ({"RAY_AUTH_MODE": "token"}, " requires a token, and this process has none."),
        (
            {"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": "0" * 64},
            " but RAY_AUTH_MODE is not set to send it.",
        ),
    ],
    ids=["wrong", "none", "none to show", "not shown"],
)
async def test_program_without_the_token_cannot_connect(
    machines: Machines, shown: dict[str, str], said: str, tmp_path: Path
) -> None:
    """The error is raised at the first attempt, although Ray tries twenty times."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    driver = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", _DRIVER, machines.address, "true"],
        env={**env, **shown, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=_LONG,
    )
    assert driver.returncode != 0
    last = driver.stderr.splitlines()[-1]
    assert last.startswith(f"nacre.errors.EngineUnavailable: The Ray cluster at {machines.address} "), driver.stderr
    assert said in last
    assert driver.stderr.count("InvalidAuthToken: Authentication token is missing or incorrect\n") < 3


async def test_command_does_not_inherit_the_ray_token(machines: Machines, shared: RayEngine) -> None:
    assert os.environ["RAY_AUTH_TOKEN"]
    result = await Bash(engine=shared).run("env")
    assert os.environ["RAY_AUTH_TOKEN"] not in result.out.text
    assert not [line for line in result.out.text.splitlines() if line.startswith("RAY_")]
    assert "NACRE_ENGINE=ray" in result.out.text.splitlines()


async def test_clear_env_on_ray_drops_home_and_nacre_engine(machines: Machines, shared: RayEngine) -> None:
    result = await Bash(engine=shared).run(Request("env", clear_env=True), ToolContext())
    assert not [line for line in result.out.text.splitlines() if line.startswith(("HOME=", "NACRE_ENGINE="))]


async def test_slow_stream_reader_blocks_the_command(machines: Machines, shared: RayEngine, tmp_path: Path) -> None:
    """Megabytes are read ahead, not hundreds of them; a reader that continues gets all of the output."""
    count = tmp_path / "count"
    command = f"for ((i=0;i<100;i++));do head -c 1000000 /dev/zero; echo $i >{count}; done"
    stream = Bash(engine=shared).stream(command)
    await anext(stream)
    await until_steady(lambda: count.read_text() if count.exists() else "")
    assert int(count.read_text()) < 50
    assert sum([len(event.data) async for event in stream if isinstance(event, Chunk)]) == 100_000_000
