"""Hosts with closed standard streams, with few descriptors, or with no free descriptor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nacre import Bash
from tests.support.descriptors import need_descriptors
from tests.support.hosts import ROOT, command, run_host
from tests.support.lifeline import Gate
from tests.support.waiting import HANG_TIMEOUT_S, wait_until


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_host_with_closed_standard_streams_runs_commands(closed: str, tmp_path: Path) -> None:
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
    subprocess.run(shell, check=True, timeout=HANG_TIMEOUT_S, cwd=ROOT)
    assert answer.read_text() == f"{[(f'{i}{chr(10)}in', 'e' + chr(10)) for i in range(5)]} True\n"


@pytest.mark.parametrize(("soft", "hard"), [(64, 4096), (256, 256), (128, 128)])
def test_host_with_few_fds_runs_200_commands_at_once(soft: int, hard: int) -> None:
    need_descriptors(hard)
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


def test_command_has_the_fd_limit_of_its_host() -> None:
    need_descriptors(3000)
    program = """
        import resource, nacre
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 3000))
        print([nacre.run_sync("ulimit -Sn; ulimit -Hn").stdout.split() for _ in range(3)])
    """
    assert run_host(program) == f"{[['200', '3000']] * 3}\n"


def test_fd_limit_set_after_the_first_command_does_not_reach_commands() -> None:
    need_descriptors(3000)
    program = """
        import resource, nacre
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 3000))
        nacre.run_sync("true")
        resource.setrlimit(resource.RLIMIT_NOFILE, (150, 2000))
        print([nacre.run_sync("ulimit -Sn; ulimit -Hn", cwd=place).stdout.split() for place in (None, "/", "/")])
    """
    assert run_host(program) == f"{[['200', '3000']] * 3}\n"


def test_run_without_free_fds_is_not_started_and_other_runs_continue(gate: Gate, tmp_path: Path) -> None:
    program = """
        import asyncio, os, sys, nacre
        from tests.support.descriptors import limit_descriptors, no_descriptor_left
        from tests.support.quoting import quote

        async def main():
            limit_descriptors(100)
            bash = nacre.Bash(max_running=10)
            stream = bash.stream(sys.argv[1])
            events, tries = [], []
            async for event in stream:
                if isinstance(event, nacre.Chunk):
                    events.append(event.text)
                    if event.text == "a\\n":
                        gate = open(sys.argv[2], "w")
                        with no_descriptor_left() as held:
                            for spare in range(12):
                                text = "echo >>RAN; echo out; echo err >&2; head -c 200000 /dev/zero | wc -c"
                                result = await bash.run(text.replace("RAN", f"{quote(sys.argv[3])}/{spare}"))
                                said = (result.stdout, result.stderr)
                                whole = result.ok and said == ("out\\n200000\\n", "err\\n")
                                assert whole or type(result.outcome).__name__ == "NotStarted", (spare, result)
                                tries.append((spare, whole))
                                os.close(held.pop())
                        assert (await bash.run("echo hi")).stdout == "hi\\n"
                        ran = os.listdir(sys.argv[3])  # a run reported as not started has not started
                        assert sorted(ran) == sorted(str(spare) for spare, whole in tries if whole), (ran, tries)
                        gate.write("go\\n")
                        gate.close()
                elif isinstance(event, nacre.Ended):
                    events.append(event.result.summary)
            print(events)

        asyncio.run(main())
    """
    ran = tmp_path / "ran"
    ran.mkdir()
    said = run_host(program, f"echo a; {gate.wait}; echo b", gate.path, ran)
    assert said == "['a\\n', 'b\\n', 'exit 0']\n"


@pytest.mark.linux
@pytest.mark.parametrize("asked", ["leftovers='detach'", "yield_after=60", "mode='background'"])
def test_sandboxed_run_without_free_fds_leaves_no_private_directory(tmp_path: Path, asked: str) -> None:
    program = f"""
        import asyncio, os, sys
        from nacre import Bash, InvalidRequest, Request, ToolContext
        from nacre.result import Exited, NotStarted
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def main():
            limit_descriptors(100)
            bash, said = Bash(), []
            ctx = ToolContext(access=bash.access_modes[-1], output_dir=sys.argv[1])
            request = Request("exit 7", {asked})
            assert (await bash.run(request, ctx)).outcome == Exited(7)
            with no_descriptor_left() as held:
                for spare in range(12):
                    try:
                        outcome = (await bash.run(request, ctx)).outcome
                    except InvalidRequest:
                        pass  # there is no descriptor for its task's directory
                    else:
                        assert isinstance(outcome, NotStarted | Exited), (spare, outcome)
                        said.append(isinstance(outcome, Exited))
                    os.close(held.pop())
            print(said[-1])

        asyncio.run(main())
    """
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert run_host(program, tmp_path / "tasks", env={"TMPDIR": str(temporary)}) == "True\n"
    wait_until(lambda: not any(temporary.iterdir()), "what was private to be removed")


@pytest.mark.linux
def test_first_sandboxed_run_without_free_fds_is_not_started_with_a_hint() -> None:
    """The first sandboxed command loads the sandbox modules, which takes descriptors."""
    if "restricted" not in Bash().access_modes:
        pytest.skip("no sandbox on this kernel")
    program = """
        import asyncio, os
        from nacre import Bash, ToolContext
        from nacre.result import Exited, NotStarted
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def main():
            limit_descriptors(100)
            bash, ctx, outcomes = Bash(), ToolContext(access="restricted"), []
            with no_descriptor_left() as held:
                for spare in range(30):
                    result = await bash.run("exit 7", ctx)
                    outcomes.append(result.outcome)
                    os.close(held.pop())
            print(outcomes[0].hint)
            print({*map(type, outcomes)} == {NotStarted, Exited}, outcomes[-1])

        asyncio.run(main())
    """
    hint = "Too many files are open; run fewer commands at once, or raise `ulimit -n`."
    assert run_host(program) == f"{hint}\nTrue Exited(code=7)\n"


def test_host_without_fds_for_a_keeper_gets_not_started_and_no_task_remains(tmp_path: Path) -> None:
    program = """
        import asyncio, os, sys, nacre
        from nacre.result import NotStarted
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def main():
            limit_descriptors(60)
            bash, ctx = nacre.Bash(), nacre.ToolContext(output_dir=sys.argv[1])
            with no_descriptor_left() as held:
                for spare in range(5):
                    for mode in ("default", "background"):
                        try:
                            result = await bash.run(nacre.Request("echo hi", mode=mode), ctx)
                        except nacre.InvalidRequest as error:
                            assert error.code == "task_not_kept", error
                        else:
                            assert isinstance(result.outcome, NotStarted), (spare, result)
                            hint = result.outcome.hint
                            # other programs of this user may have used up the descriptors in transit
                            assert "ulimit -n" in hint or "in transit" in hint, result
                    os.close(held.pop())
            print((await bash.run("echo fine")).stdout, end="")
            print(nacre.Tasks(sys.argv[1]).list())

        asyncio.run(main())
    """
    assert run_host(program, tmp_path / "tasks") == "fine\n[]\n"


@pytest.mark.linux
def test_failed_keeper_start_leaks_no_fds() -> None:
    program = """
        import asyncio, os
        from nacre import Bash
        from nacre.result import NotStarted
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def main():
            limit_descriptors(100)
            bash, before = Bash(), len(os.listdir("/proc/self/fd"))
            for spare in (1, 2, 3, 4):
                for _ in range(3):
                    with no_descriptor_left() as held:
                        for _ in range(spare):
                            os.close(held.pop())
                        assert isinstance((await bash.run("echo hi")).outcome, NotStarted)
            print(len(os.listdir("/proc/self/fd")) - before)

        asyncio.run(main())
    """
    assert run_host(program) == "0\n"


@pytest.mark.linux
@pytest.mark.skipif("workspace" not in Bash().access_modes, reason="no sandbox on this kernel")
def test_protected_files_survive_a_host_without_free_fds(tmp_path: Path) -> None:
    """Files that could not be compared could not be restored: the command is not run, or everything is as before."""
    program = """
        import asyncio, os, sys, nacre
        from nacre.result import NotStarted
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def main():
            limit_descriptors(100)
            place = sys.argv[1]
            ctx = nacre.ToolContext(working_dir=place, access="workspace", protected=("later",))
            bash = nacre.Bash()
            assert (await bash.run("true", ctx)).ok
            with no_descriptor_left() as held:
                for spare in range(14):
                    ran = await bash.run("true", ctx)
                    assert ran.ok or isinstance(ran.outcome, NotStarted), (spare, ran)
                    assert os.path.exists(f"{place}/.claude/settings.json"), spare
                    os.close(held.pop())
            print((await bash.run("echo fine", ctx)).stdout, end="")

        asyncio.run(main())
    """
    (tmp_path / "work" / ".claude").mkdir(parents=True)
    (tmp_path / "work" / ".claude" / "settings.json").write_text("{}")
    assert run_host(program, tmp_path / "work") == "fine\n"


def test_hard_fd_limit_too_low_for_a_keeper_raises_an_error_with_the_fix() -> None:
    program = """
        import resource, nacre
        from nacre.errors import KeeperFailed
        resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
        try:
            nacre.run_sync("echo hi")
        except KeeperFailed as error:
            print(error, error.errno)
    """
    assert run_host(program) == (
        "nacre's keeper needs 96 file descriptors, and the hard limit is 60. "
        "Raise it where this program is started: ulimit -Hn. 0\n"
    )


@pytest.mark.linux
@pytest.mark.parametrize("access", Bash().access_modes[:2])
def test_task_that_exits_at_once_is_reported_even_if_its_log_cannot_be_read(tmp_path: Path, access: str) -> None:
    program = """
        import asyncio, os, sys, nacre
        from nacre.result import Exited, NotStarted
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def main():
            limit_descriptors(100)
            store, access = sys.argv[1:]
            bash, ctx, said = nacre.Bash(), nacre.ToolContext(output_dir=store, access=access), set()
            request = nacre.Request("echo hi; exit 7", mode="background")
            assert (await bash.run(request, ctx)).outcome == Exited(7)
            with no_descriptor_left() as held:
                for spare in range(12):
                    try:
                        result = await bash.run(request, ctx)
                    except nacre.InvalidRequest:
                        continue
                    finally:
                        os.close(held.pop())
                    if not isinstance(result.outcome, NotStarted):
                        unread = any("Too many open files" in note for note in result.notes)
                        assert (result.outcome, result.output) == (Exited(7), "" if unread else "hi\\n"), result
                        said.add(unread)
            print(sorted(said))
            names = [name for name in os.listdir(store) if name[0] != "."]
            print([name for name in names if not os.path.exists(f"{store}/{name}/status.json")])

        asyncio.run(main())
    """
    place = tmp_path / "place"  # not the project: without mounts, no workspace may contain nacre's own code
    place.mkdir()
    assert run_host(program, tmp_path / "tasks", access, cwd=place) == "[False, True]\n[]\n"


@pytest.mark.parametrize(
    ("attempts", "note"),
    [
        (
            "Request('sleep 300 & exit 7'),",
            "The processes it left running could not become a task: Too many open files.",
        ),
        (
            "Request('sleep 4; exit 7', yield_after=1), Request('sleep 60; exit 7', yield_after=8)",
            "It could not become a background task: Too many open files.",
        ),
    ],
    ids=["leftovers", "yielding"],
)
def test_command_that_cannot_become_a_task_without_fds_still_completes(attempts: str, note: str) -> None:
    """On a busy machine it may become a task before the descriptors are used up: then retry with more time."""
    program = f"""
        import asyncio
        from nacre import Bash, Ended, Request, Started
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def run(request):
            async for event in Bash().stream(request):
                if isinstance(event, Started):
                    all_of_them = no_descriptor_left()
                    all_of_them.__enter__()
                elif isinstance(event, Ended):
                    all_of_them.__exit__(None, None, None)
                    return event.result

        async def main():
            limit_descriptors(100)
            for request in ({attempts}):
                result = await run(request)
                if {note!r} in result.notes:
                    print(result.summary)
                    break

        asyncio.run(main())
    """
    assert run_host(program) == "exit 7\n"


@pytest.mark.linux
def test_orphans_of_a_dead_keeper_are_killed_once_an_fd_is_free() -> None:
    program = """
        import asyncio, os, resource, signal, subprocess
        from nacre.keeper.client.orphans import kill_tagged_orphans
        from nacre.keeper.protocol.procfs import RLIMIT_LOCKS
        from tests.support.descriptors import limit_descriptors, no_descriptor_left
        from tests.support.waiting import turn_loop

        async def main():
            tag = os.getpid() << 22  # of no other process
            left = subprocess.Popen(["sleep", "300"])
            resource.prlimit(left.pid, RLIMIT_LOCKS, (tag, resource.RLIM_INFINITY))
            limit_descriptors(100)
            with no_descriptor_left() as held:
                print(await kill_tagged_orphans(tag, tag), left.poll())
                ending = asyncio.ensure_future(kill_tagged_orphans(tag, tag))
                await turn_loop()
                os.close(held.pop())
                print(await ending)
            print(left.wait())

        asyncio.run(main())
    """
    assert run_host(program) == "() None\n()\n-9\n"
