"""A container's life: it is created once, survives failures of its commands, and is removed in every ending."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from nacre import Bash, Request, ToolContext
from nacre.engines import Containers
from nacre.result import Exited, Lost, TimedOut
from nacre.tasks import Match, Tasks
from nacre.types import Access
from tests.engines.conftest import IMAGE, command_output, containers
from tests.support.census import children
from tests.support.hosts import kill, run_host, started_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S, turn_loop, until

pytestmark = pytest.mark.containers

MakeBash = Callable[..., Bash]

HOST = """
    import asyncio, sys
    from nacre import Bash, Request, ToolContext
    from nacre.engines import Containers

    async def main():
        program, image, directory, mode, command = sys.argv[1:]
        bash = Bash(engine=Containers(image, program=program))
        ctx = ToolContext(working_dir=directory, output_dir=directory)
        await bash.run("true", ctx)
        result = await bash.run(Request(command, mode=mode), ctx)
        print(result.task and result.task.id, flush=True)
        await asyncio.Event().wait()

    asyncio.run(main())
"""


# while it starts


@pytest.fixture
def gated_program(program: str, directory: Path, gate: Gate, life: Lifeline) -> str:
    """A wrapper of the engine's program that holds the line and waits at the gate before it starts a container."""
    path = directory / program
    path.write_text(
        f'#!/bin/bash\nif [[ $1 == run ]]; then ({life.hold} {gate.wait}) </dev/null; fi\nexec {program} "$@"\n'
    )
    path.chmod(0o755)
    return str(path)


async def test_waiting_run_gets_a_container_when_the_opening_run_is_cancelled(
    make_bash: MakeBash, gated_program: str, directory: Path, gate: Gate, life: Lifeline
) -> None:
    bash, ctx = make_bash(program=gated_program), ToolContext(working_dir=directory)
    first = asyncio.create_task(bash.run("echo first", ctx))
    await life.wait_until_held()
    second = asyncio.create_task(bash.run("echo second", ctx))
    await turn_loop(20)  # until it waits for the same container
    first.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await first
    gate.open(2)
    assert (await second).out.text == "second\n"


async def test_container_opened_while_the_engine_closes_is_removed(
    make_bash: MakeBash, gated_program: str, program: str, directory: Path, gate: Gate, life: Lifeline
) -> None:
    bash = make_bash(program=gated_program)
    run = asyncio.create_task(bash.run("echo done", ToolContext(working_dir=directory)))
    await life.wait_until_held()
    await bash.engine.aclose()
    gate.open(2)
    assert (await run).out.text == "done\n"
    await until(lambda: not containers(program, directory), "the end of the containers")


# while a command runs in it


def clients(program: str, container: str) -> list[int]:
    """Return the client processes that run commands in the container."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")
            if words[0] == program and words[1:2] == ["exec"] and container in words:
                found.append(int(pid))
    return found


@pytest.mark.parametrize("mode", ["default", "background"])
async def test_killing_the_exec_client_kills_only_its_command(
    make_bash: MakeBash,
    program: str,
    directory: Path,
    life: Lifeline,
    gate: Gate,
    mode: Literal["default", "background"],
) -> None:
    bash, ctx = make_bash(), ToolContext(working_dir=directory, output_dir=directory.parent / "kept")
    run = asyncio.create_task(bash.run(Request(f"echo part; {life.hold} setsid sleep 300", mode=mode), ctx))
    await life.wait_until_held()
    (container,) = containers(program, directory)
    (client,) = clients(program, container)
    other = asyncio.create_task(bash.run(f"{gate.wait}; echo whole", ctx))
    await until(lambda: len(clients(program, container)) == 2, "the other command")
    kill(client)
    await life.wait_until_ended()
    gate.open()
    assert (await other).out.text == "whole\n"
    result = await run
    assert mode == "background" or (isinstance(result.outcome, Lost) and result.out.text == "part\n")
    assert (await bash.run("echo next", ctx)).out.text == "next\n"
    assert containers(program, directory) == [container]


async def test_container_full_of_processes_is_replaced(make_bash: MakeBash, directory: Path, life: Lifeline) -> None:
    bash, ctx = make_bash(processes=12), ToolContext(working_dir=directory)
    command = f"{life.hold} for i in $(seq 20); do sleep 300 & done 2>/dev/null; wait"
    for limit in TIME_LIMITS_S:
        assert (await bash.run(Request(command, timeout=limit), ctx)).outcome == TimedOut(limit)
        if life.holders:
            break
    await life.wait_until_ended()
    assert (await bash.run("echo next", ctx)).out.text == "next\n"


@pytest.mark.parametrize(
    ("access", "user", "change"),
    [
        ("workspace", None, ""),
        ("workspace", "65534", ""),
        ("unrestricted", "65534", ""),
        ("unrestricted", None, "setpriv --reuid 65534 --clear-groups"),
    ],
    ids=["root", "user", "user without a sandbox", "root that becomes a user"],
)
async def test_timeout_kills_only_its_command_whatever_the_user(
    make_bash: MakeBash,
    program: str,
    directory: Path,
    life: Lifeline,
    gate: Gate,
    access: Access,
    user: str | None,
    change: str,
) -> None:
    """So many processes that killing them twice would take too long, and the whole container would be killed."""
    directory.chmod(0o777)
    for pipe in ("life", "gate"):
        (directory / pipe).chmod(0o666)
    bash, ctx = make_bash(user=user), ToolContext(working_dir=directory, access=access)
    other = asyncio.create_task(bash.run(f"{gate.wait}; echo whole", ctx))
    many = f"for i in $(seq 300); do {change} setsid sleep 300 & done"
    command = f"{life.hold} trap 'echo bye; exit 0' TERM; {many}; echo all; wait"
    for limit in TIME_LIMITS_S[1:]:
        result = await bash.run(Request(command, timeout=limit), ctx)
        if result.out.text.startswith("all\n"):
            break
    assert (result.outcome, result.out.text) == (TimedOut(limit), "all\nbye\n")
    await life.wait_until_ended()
    gate.open()
    assert (await other).out.text == "whole\n"
    assert len(containers(program, directory)) == 1


async def test_cancelled_command_does_not_start_afterwards(
    make_bash: MakeBash, program: str, directory: Path, life: Lifeline, gate: Gate
) -> None:
    """The kill is delayed past the start of the command, so only the start itself can stop it from running."""
    path, late = directory / program, Gate(directory / "late")
    path.write_text(
        f"#!/bin/bash\ncase $* in *ward*) {life.hold} {gate.wait} ;; *reap*) {late.wait} ;; esac\n"
        f'exec {program} "$@" 7>&-\n'
    )
    path.chmod(0o755)
    bash, ctx = make_bash(program=str(path)), ToolContext(working_dir=directory)
    run = asyncio.create_task(bash.run("echo begun > made", ctx))
    await life.wait_until_held()
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run
    gate.open()
    (container,) = containers(program, directory)
    await until(lambda: clients(program, container) == [], "the end of what was cancelled")
    assert not (directory / "made").exists()
    late.open(9)
    late.close()


async def test_command_that_times_out_at_start_leaves_others_alone(
    make_bash: MakeBash, program: str, directory: Path, life: Lifeline, gate: Gate
) -> None:
    bash, ctx = make_bash(), ToolContext(working_dir=directory)
    other = asyncio.create_task(bash.run(f"{life.hold} {gate.wait}; echo whole", ctx))
    await life.wait_until_held()
    before = containers(program, directory)
    for timeout in (0.001, 0.1, 0.2):
        assert (await bash.run(Request("sleep 300", timeout=timeout), ctx)).outcome == TimedOut(timeout)
    gate.open()
    assert (await other).out.text == "whole\n"
    assert (await bash.run("echo next", ctx)).out.text == "next\n"
    assert containers(program, directory) == before


async def test_newly_hidden_file_does_not_end_a_running_command(
    make_bash: MakeBash, directory: Path, life: Lifeline, gate: Gate
) -> None:
    bash, ctx = make_bash(), ToolContext(working_dir=directory, access="workspace", hidden=("key",))
    first = asyncio.create_task(bash.run(f"{life.hold} {gate.wait}; echo whole", ctx))
    await life.wait_until_held()
    (directory / "key").write_text("private")
    assert "private" not in (await bash.run("cat key", ctx)).both.text
    gate.open()
    assert (await first).out.text == "whole\n"


async def test_closing_the_engine_does_not_end_a_running_command(
    make_bash: MakeBash, program: str, directory: Path, life: Lifeline, gate: Gate
) -> None:
    bash = make_bash()
    run = asyncio.create_task(bash.run(f"{life.hold} {gate.wait}; echo whole", ToolContext(working_dir=directory)))
    await life.wait_until_held()
    await bash.engine.aclose()
    gate.open()
    assert (await run).out.text == "whole\n"
    await until(lambda: not containers(program, directory), "the end of the container")


# when it is idle


async def test_idle_container_is_removed(make_bash: MakeBash, program: str, directory: Path) -> None:
    bash = make_bash(idle=0.1)
    await bash.run("true", ToolContext(working_dir=directory))
    await until(lambda: not containers(program, directory), "the end of the container")


async def test_oldest_container_is_removed_when_there_are_too_many(
    make_bash: MakeBash, program: str, directory: Path
) -> None:
    bash = make_bash(most=1)
    first, second = (ToolContext(working_dir=directory, conversation_id=name) for name in ("first", "second"))
    await bash.run("true", first)
    (before,) = containers(program, directory)
    await bash.run("true", second)
    await until(lambda: before not in containers(program, directory), "the end of the first container")
    assert (await bash.run("echo again", first)).outcome == Exited(0)


async def test_forked_child_does_not_keep_a_container_alive(program: str, directory: Path) -> None:
    with started_host(
        """
        import asyncio, os, signal, sys
        from nacre import Bash, ToolContext
        from nacre.engines import Containers

        program, image, directory = sys.argv[1:]
        asyncio.run(Bash(engine=Containers(image, program=program)).run("true", ToolContext(working_dir=directory)))
        if child := os.fork():
            print(child, flush=True)
        signal.pause()
        """,
        program,
        IMAGE,
        directory,
    ) as host:
        assert host.stdout is not None
        child = int(host.stdout.readline())
        assert len(containers(program, directory)) == 1
        host.kill()
        await until(lambda: not containers(program, directory), "the end of the container")
        kill(child)


async def test_forked_child_gets_its_own_containers(program: str, directory: Path) -> None:
    printed = run_host(
        """
        import asyncio, os, sys, warnings
        from nacre import Bash, ToolContext
        from nacre.engines import Containers

        warnings.simplefilter("ignore", ResourceWarning)  # the keeper's socket, at the very end
        bash = Bash(engine=Containers(sys.argv[2], program=sys.argv[1]))
        ctx = ToolContext(working_dir=sys.argv[3])
        asyncio.run(bash.run("touch /var/tmp/mine", ctx))
        if child := os.fork():
            os.waitpid(child, 0)
            print(asyncio.run(bash.run("ls /var/tmp", ctx)).stdout.strip(), flush=True)
        else:
            print(asyncio.run(bash.run("ls /var/tmp; echo child", ctx)).stdout.strip(), flush=True)
            os._exit(0)
        """,
        program,
        IMAGE,
        directory,
    )
    assert printed == "child\nmine\n"


# when its owners exit


async def test_container_is_removed_when_the_engine_is_closed(program: str, directory: Path) -> None:
    engine = Containers(IMAGE, program=program)
    await Bash(engine=engine).run("true", ToolContext(working_dir=directory))
    assert len(containers(program, directory)) == 1
    await engine.aclose()
    await until(lambda: not containers(program, directory), "the end of the container")


@pytest.mark.parametrize("what", ["host", "host and keepers", "keepers"])
async def test_container_is_removed_when_host_or_keepers_are_killed(
    program: str, directory: Path, life: Lifeline, what: str
) -> None:
    command = f"{life.hold} sleep 300"
    with started_host(HOST, program, IMAGE, directory, "default", command) as host:
        await life.wait_until_held()
        keepers = sorted(children(host.pid))
        victims = {"host": [host.pid], "keepers": keepers, "host and keepers": [*keepers, host.pid]}[what]
        for pid in victims:
            if pid == host.pid:
                host.kill()
            else:
                kill(pid)
        await life.wait_until_ended()
        host.kill()
    await until(lambda: not containers(program, directory), "the end of the container")


async def test_container_stays_until_a_task_that_outlives_its_host_ends(
    program: str, directory: Path, gate: Gate
) -> None:
    with started_host(HOST, program, IMAGE, directory, "background", f"echo one; {gate.wait}; echo two") as host:
        assert host.stdout is not None
        task = host.stdout.readline().strip()
        host.kill()
        host.wait()
    tasks = Tasks(directory)
    await tasks.wait(task, until=Match("one"), timeout=HANG_TIMEOUT_S)
    assert len(containers(program, directory)) == 1
    gate.open()
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    assert tasks.output(task).data == b"one\ntwo\n"
    await until(lambda: not containers(program, directory), "the end of the container")


async def test_run_in_a_removed_container_is_lost_and_the_next_gets_another(
    make_bash: MakeBash, program: str, directory: Path, life: Lifeline
) -> None:
    bash, ctx = make_bash(), ToolContext(working_dir=directory)
    run = asyncio.create_task(bash.run(f"{life.hold} echo part; sleep 300", ctx))
    await life.wait_until_held()
    command_output(program, "rm", "-f", *containers(program, directory))
    result = await run
    assert isinstance(result.outcome, Lost)
    assert result.out.text == "part\n"
    assert (await bash.run("echo again", ctx)).out.text == "again\n"
