"""Keepers with few descriptors or none free: they report what they cannot start, and survive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hosts import run_host
from tests.support.lifeline import Gate
from tests.support.waiting import wait_until

pytestmark = pytest.mark.linux

KINDS = {
    "command": "Request('echo hi; exit 7')",
    "long command": "Request('echo hi; exit 7' + ' ' * 100_000)",
    "command with input": "Request('cat; exit 7', stdin='hi\\n')",
    "command that may become a task": "Request('echo hi; exit 7', yield_after=60)",
    "command that may leave something": "Request('echo hi; exit 7', leftovers='detach')",
    "task": "Request('echo hi; exit 7', mode='background')",
}
"""Commands that print the same and exit at once."""


@pytest.mark.parametrize("access", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_keeper_without_free_fds_reports_not_started_and_leaves_no_file(tmp_path: Path, kind: str, access: int) -> None:
    temporary, place = tmp_path / "temporary", tmp_path / "place"
    temporary.mkdir()
    place.mkdir()  # not the project: without mounts, no workspace may contain nacre's own code
    program = f"""
        import asyncio, os, sys, time
        from nacre import Bash, Limits, Request, ToolContext
        from nacre.keeper.client.connection import keeper_connection
        from nacre.result import Exited, NotStarted
        from tests.support.descriptors import few_descriptors
        from tests.support.waiting import HANG_TIMEOUT_S

        async def run_with(most, keeper, bash, ctx):
            end = time.monotonic() + HANG_TIMEOUT_S
            while True:
                with few_descriptors(keeper, most):
                    result = await bash.run({KINDS[kind]}, ctx)
                # those of all processes of this user count, so other programs may have too many in transit
                if "in transit" not in getattr(result.outcome, "hint", "") or time.monotonic() > end:
                    return result

        async def main():
            store, bash, said = sys.argv[1], Bash(), []
            ctx = ToolContext(output_dir=store, access=bash.access_modes[{access}], limits=Limits(tasks=1000))
            assert (await bash.run("echo first")).output == "first\\n"
            keeper = keeper_connection().pid
            for most in range(62, 96):
                result = await run_with(most, keeper, bash, ctx)
                if isinstance(result.outcome, NotStarted):
                    assert "ulimit -n" in result.outcome.hint, (most, result)
                    assert result.task is None, (most, result)
                else:
                    assert (result.outcome, result.output) == (Exited(7), "hi\\n"), (most, result)
                said.append(isinstance(result.outcome, NotStarted))
            assert keeper_connection().pid == keeper
            print(said[0], said[-1])
            names = [name for name in os.listdir(store) if name[0] != "."] if os.path.isdir(store) else []
            print([name for name in names if not os.path.exists(f"{{store}}/{{name}}/status.json")])

        asyncio.run(main())
    """
    assert run_host(program, tmp_path / "tasks", env={"TMPDIR": str(temporary)}, cwd=place) == "True False\n[]\n"
    wait_until(lambda: not any(temporary.iterdir()), "what was private to be removed")


def test_keeper_without_free_fds_kills_the_task_of_another_killed_keeper(tmp_path: Path) -> None:
    program = """
        import asyncio, os, signal, sys
        from nacre import Bash, Request, Tasks, ToolContext
        from nacre.keeper.client.connection import keeper_connection
        from tests.support.census import is_alive
        from tests.support.descriptors import few_descriptors
        from tests.support.waiting import until

        async def main():
            bash, ctx = Bash(), ToolContext(output_dir=sys.argv[1])
            result = await bash.run(Request("echo $PPID; exec sleep 300", mode="background"), ctx)
            tasks = Tasks(sys.argv[1])
            said = await until(lambda: tasks.output(result.task.id).text, "its first line")
            keeper = keeper_connection().pid
            with few_descriptors(keeper, 64):
                os.kill(int(said), signal.SIGKILL)
                await until(lambda: not is_alive(result.task.pid), "its end")
            print((await bash.run("echo $PPID")).output == f"{keeper}\\n")

        asyncio.run(main())
    """
    assert run_host(program, tmp_path / "tasks") == "True\n"


def test_keeper_without_free_fds_kills_all_processes_on_timeout() -> None:
    program = """
        import asyncio, os
        from nacre import Bash, Chunk, Ended, Request
        from nacre.keeper.client.connection import keeper_connection
        from tests.support.descriptors import few_descriptors
        from tests.support.waiting import TIME_LIMITS_S

        async def main():
            bash, others = Bash(), []
            for _ in range(2):  # or whatever is found could only belong to one of them
                others.append(bash.stream("echo; sleep 300"))
                await anext(others[-1])
            left = f"(setsid sleep 300 & echo $!); sleep 300"
            for limit in TIME_LIMITS_S:
                child = None
                async for event in bash.stream(Request(left, timeout=limit)):
                    if isinstance(event, Chunk):
                        none = few_descriptors(keeper_connection().pid, 64)
                        none.__enter__()
                        child = int(event.text)
                    elif isinstance(event, Ended) and child:
                        none.__exit__(None, None, None)
                        print(event.result.summary == f"timed out after {limit} s")
                if child:
                    break
            try:
                os.kill(child, 0)
            except ProcessLookupError:
                print("gone")
            for other in others:
                await other.aclose()

        asyncio.run(main())
    """
    assert run_host(program) == "True\ngone\n"


@pytest.mark.parametrize(
    ("attempts", "note"),
    [
        (
            {"({wait}) & exit 7": "leftovers='detach'"},
            "The processes it left running could not become a task: Too many open files.",
        ),
        (
            {"sleep 4; exit 7": "yield_after=1", "sleep 60; exit 7": "yield_after=8"},
            "It could not become a background task: Cannot create a task in ",
        ),
    ],
    ids=["leftovers", "yielding"],
)
def test_command_continues_when_its_keeper_has_no_fds_to_make_it_a_task(
    gate: Gate, attempts: dict[str, str], note: str
) -> None:
    """On a busy machine it may become a task before the keeper is out of descriptors: then retry with more time."""
    program = f"""
        import asyncio, sys
        from nacre import Bash, Chunk, Ended, Request
        from tests.support.descriptors import few_descriptors

        async def run(request):
            async for event in Bash().stream(request):
                if isinstance(event, Chunk):
                    none = few_descriptors(int(event.text), 64)
                    none.__enter__()
                    with open(sys.argv[1], "w") as gate:
                        gate.write("go\\n")
                elif isinstance(event, Ended):
                    return event.result

        async def main():
            for request in [{", ".join(f"Request(sys.argv[{n}], {o})" for n, o in enumerate(attempts.values(), 2))}]:
                result = await run(request)
                if any(words.startswith({note!r}) for words in result.notes):
                    print(result.summary)
                    break

        asyncio.run(main())
    """
    commands = [f"echo $PPID; {gate.wait}; {end.format(wait=gate.wait)}" for end in attempts]
    assert run_host(program, gate.path, *commands) == "exit 7\n"
    gate.open()
