"""After any number of runs the host and its keeper hold the same resources as before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.census import is_alive
from tests.support.hosts import run_host
from tests.support.waiting import wait_until

PROGRAM = """
    import asyncio, json, os, sys, tempfile
    import nacre
    from nacre import Bash, Cancel, Limits, Request, Session, ToolContext
    from tests.support.census import cost
    from tests.support.waiting import turn_loop, until, until_steady

    bash = Bash()

    def costs():
        return [vars(cost(os.getpid())), vars(cost(keeper)), sorted(os.listdir(tempfile.gettempdir()))]

    async def many(count, text, **options):
        for _ in range(count):
            result = await nacre.run(text, **options)
            assert result.ok, result

    async def at_once(count, text, **options):
        results = await asyncio.gather(*(nacre.run(text, **options) for _ in range(count)))
        assert all(result.ok for result in results), {result.outcome for result in results}

    async def of_all_kinds(count):
        for _ in range(count):
            await asyncio.gather(
                nacre.run("exit 3"),
                nacre.run("sleep 60", timeout=0.05),
                nacre.run("sleep 60 &", leftovers="end"),
                nacre.run("cat", stdin="x" * 100_000),
                nacre.run(f": {'x' * 10_000}"),
                nacre.run("true", env={"HUGE": "x" * 4_000_000}),
                Session().run("cd /; export A=1"),
            )
            task = asyncio.create_task(nacre.run("sleep 60"))
            await turn_loop()  # it begins
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            cancel = Cancel()
            async for event in bash.stream("echo; sleep 60", ToolContext(cancel=cancel)):
                cancel.cancel()
            async for event in bash.stream("echo; sleep 60"):
                break

    async def main():
        global keeper
        keeper = int((await nacre.run("echo $PPID; sleep 0.1 & wait")).stdout)
        before = await until_steady(costs, looks=10)
        await eval(sys.argv[1])
        now = None
        def settled():
            nonlocal now
            now = costs()
            return now == before
        try:
            await until(settled, "the costs from before")
        finally:
            print(json.dumps([before, now]))

    asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        "many(1000, 'true')",
        "at_once(500, 'sleep 1')",
        "of_all_kinds(10)",
        "many(50, 'true', stdin='x')",
    ],
)
def test_runs_leave_host_and_keeper_resources_unchanged(work: str, tmp_path: Path) -> None:
    before, after = json.loads(run_host(PROGRAM, work, env={"TMPDIR": str(tmp_path)}))
    assert after == before
    assert list(tmp_path.iterdir()) == []


def test_idle_keeper_exits_with_its_host() -> None:
    keeper = int(run_host("import nacre; print(nacre.run_sync('echo $PPID').stdout)"))
    wait_until(lambda: not is_alive(keeper), "the end of the keeper")


def test_importing_and_making_a_bash_starts_no_process() -> None:
    program = """
        import os, nacre
        from tests.support.census import children
        nacre.Bash(), nacre.Session(), nacre.Request("true"), nacre.ToolContext()
        print(children(os.getpid()))
    """
    assert run_host(program) == "[]\n"
