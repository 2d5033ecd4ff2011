"""Hosts with closed standard streams, few descriptors, or none that is free."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.hosts import ROOT, command, run_host
from tests.support.lifeline import Gate


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_host_may_have_closed_its_standard_streams(closed: str, tmp_path: Path) -> None:
    program = """
        import asyncio, sys, nacre
        async def main():
            results = await asyncio.gather(*(nacre.run(f"echo {i}; echo e >&2; cat", stdin="in") for i in range(5)))
            return [(result.stdout, result.stderr) for result in results]
        first = asyncio.run(main())
        with open(sys.argv[1], "w") as file:
            print(first, nacre.run_sync("true").ok, file=file)
    """
    answer = tmp_path / "answer"
    shell = ["bash", "-c", f'"$@" {closed}', "bash", *command(program, answer)]
    subprocess.run(shell, check=True, timeout=60, cwd=ROOT)
    assert answer.read_text() == f"{[(f'{i}{chr(10)}in', 'e' + chr(10)) for i in range(5)]} True\n"


@pytest.mark.parametrize(("soft", "hard"), [(64, 4096), (256, 256), (128, 128)])
def test_a_host_with_few_descriptors_runs_many_commands_all_the_same(soft: int, hard: int) -> None:
    program = f"""
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
        import asyncio, nacre
        async def main():
            results = await asyncio.gather(*(nacre.run(f"echo {{i}}") for i in range(200)))
            return {{(result.summary, result.stdout == f"{{i}}\\n") for i, result in enumerate(results)}}
        print(asyncio.run(main()))
    """
    assert run_host(program) == "{('exit 0', True)}\n"


def test_a_command_has_the_hosts_own_limit_of_descriptors() -> None:
    program = """
        import resource, nacre
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 3000))
        print([nacre.run_sync("ulimit -Sn; ulimit -Hn").stdout.split() for _ in range(3)])
    """
    assert run_host(program) == f"{[['200', '3000']] * 3}\n"


def test_a_host_without_a_free_descriptor_is_told_so_and_its_other_runs_go_on(gate: Gate) -> None:
    program = """
        import asyncio, os, sys, nacre
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def main():
            limit_descriptors(100)
            bash = nacre.Bash(max_running=10)
            stream = bash.stream(sys.argv[1])
            events = []
            async for event in stream:
                if isinstance(event, nacre.Chunk):
                    events.append(event.text)
                    if event.text == "a\\n":
                        gate = open(sys.argv[2], "w")
                        with no_descriptor_left() as held:
                            for spare in range(12):
                                result = await bash.run("echo out; echo err >&2; head -c 200000 /dev/zero | wc -c")
                                said = (result.stdout, result.stderr)
                                whole = result.ok and said == ("out\\n200000\\n", "err\\n")
                                assert whole or type(result.outcome).__name__ == "NotStarted", (spare, result)
                                os.close(held.pop())
                        assert (await bash.run("echo hi")).stdout == "hi\\n"
                        gate.write("go\\n")
                        gate.close()
                elif isinstance(event, nacre.Ended):
                    events.append(event.result.summary)
            print(events)

        asyncio.run(main())
    """
    assert run_host(program, f"echo a; {gate.wait}; echo b", gate.path) == "['a\\n', 'b\\n', 'exit 0']\n"


def test_a_host_without_descriptors_for_a_keeper_gets_a_clear_answer() -> None:
    program = """
        import asyncio, os, nacre
        import nacre.call
        from nacre import NacreError
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def main():
            limit_descriptors(60)
            bash = nacre.Bash()
            with no_descriptor_left() as held:
                for spare in range(12):
                    try:
                        result = await bash.run("echo hi")
                        assert result.stdout == "hi\\n" or type(result.outcome).__name__ == "NotStarted", result
                    except NacreError:
                        pass
                    os.close(held.pop())
            print((await bash.run("echo fine")).stdout, end="")

        asyncio.run(main())
    """
    assert run_host(program) == "fine\n"
