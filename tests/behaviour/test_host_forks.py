"""Hosts that fork, have their own children, or are started by a run themselves."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

import nacre
from nacre import Bash
from nacre.result import Exited
from tests.support.hosts import run_host, started_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.quoting import quote
from tests.support.waiting import TIME_LIMITS_S


def test_parent_and_forked_child_each_use_their_own_keeper() -> None:
    program = """
        import os, nacre
        first = nacre.run_sync("echo $PPID").stdout
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, nacre.run_sync("echo $PPID").stdout.encode())
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        other = os.read(read, 100).decode()
        again = nacre.run_sync("echo $PPID").stdout
        assert first == again != other, (first, other, again)
        print("fine")
    """
    assert run_host(program) == "fine\n"


@pytest.mark.parametrize("ending", ["os._exit(0)", "sys.exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_run_of_the_parent_survives_a_forked_child(ending: str, gate: Gate) -> None:
    program = f"""
        import asyncio, os, pathlib, sys, nacre

        async def main():
            stream = nacre.Bash().stream(sys.argv[1])
            said = ""
            async for event in stream:
                if isinstance(event, nacre.Chunk):
                    said += event.text
                    if event.text == "a\\n":
                        child = os.fork()
                        if child == 0:
                            return None
                        os.waitpid(child, 0)
                        pathlib.Path(sys.argv[2]).write_text("go\\n")
                elif isinstance(event, nacre.Ended):
                    return event.result.summary, said

        result = asyncio.run(main())
        if result is None:
            assert nacre.run_sync("echo child").stdout == "child\\n"
            {ending}
        print(result)
    """
    assert run_host(program, f"echo a; {gate.wait}; echo b", gate.path) == "('exit 0', 'a\\nb\\n')\n"


def test_child_forked_inside_the_event_loop_can_run_commands(gate: Gate, tmp_path: Path) -> None:
    program = """
        import asyncio, os, pathlib, sys, nacre
        from tests.support.waiting import TIME_LIMITS_S, until

        async def main():
            running = asyncio.create_task(nacre.run(sys.argv[1]))
            await until(pathlib.Path(sys.argv[3]).exists, "the beginning of the run")
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    status = 0 if nacre.run_sync("echo child").stdout == "child\\n" else 2
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0
            pathlib.Path(sys.argv[2]).write_text("go\\n")
            print((await running).stdout, end="")

        asyncio.run(main())
    """
    ready = tmp_path / "ready"
    text = f"echo a; : >'{ready}'; {gate.wait}; echo b"
    assert run_host(program, text, gate.path, ready) == "a\nb\n"


def test_forked_child_does_not_wait_for_run_slots_held_by_its_parent(life: Lifeline) -> None:
    program = """
        import asyncio, os, sys, nacre

        bash = nacre.Bash(max_running=1)

        async def main():
            async for event in bash.stream(sys.argv[1]):
                if isinstance(event, nacre.Chunk):
                    child = os.fork()
                    if child == 0:
                        return True
                    print("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                    return False

        if asyncio.run(main()):
            result = asyncio.run(bash.run("echo child"))
            os._exit(0 if result.stdout == "child\\n" else 1)
    """
    assert run_host(program, f"{life.hold} echo a; sleep 999") == "parent 0\n"
    life.wait_over()


def test_multiprocessing_child_can_run_commands() -> None:
    program = """
        import multiprocessing, nacre

        def work(queue):
            queue.put(nacre.run_sync("echo child").stdout)

        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        print(nacre.run_sync("echo parent").stdout, end="")
        process = context.Process(target=work, args=(queue,))
        process.start()
        print(queue.get(), end="")
        process.join()
        print(process.exitcode, nacre.run_sync("echo parent").stdout, end="")
    """
    assert run_host(program) == "parent\nchild\n0 parent\n"


@pytest.mark.linux  # elsewhere only the socket shows that the host has exited
def test_child_that_inherits_the_hosts_socket_does_not_keep_runs_alive(life: Lifeline) -> None:
    program = """
        import os, stat, subprocess, sys, nacre
        nacre.run_sync("true")
        listed = [int(fd) for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
        sockets = [fd for fd in listed if stat.S_ISSOCK(os.fstat(fd).st_mode)]
        assert sockets
        child = subprocess.Popen(["sleep", "60"], pass_fds=sockets, stdout=subprocess.DEVNULL)
        print(child.pid, flush=True)
        nacre.run_sync(sys.argv[1])
    """
    with started_host(program, f"{life.hold} (trap '' TERM; sleep 999)") as host:
        assert host.stdout is not None
        child = int(host.stdout.readline())
        try:
            life.wait_held()
            host.kill()
            host.wait()
            life.wait_over()
        finally:
            os.kill(child, 9)


def test_a_host_that_is_itself_run_by_nacre_works(bash: Bash) -> None:
    inner = f"{quote(sys.executable)} -c \"import nacre; print(nacre.run_sync('echo inner').stdout)\""
    result = asyncio.run(bash.run(inner))
    assert (result.outcome, result.output.split()) == (Exited(0), ["inner"])


@pytest.mark.linux  # two keepers, two tags: only rlimits let the outer keeper see the inner one's
def test_timeout_kills_a_nested_host_and_everything_it_runs(bash: Bash, life: Lifeline) -> None:
    inner = "import nacre, sys; nacre.run_sync(sys.argv[1])"
    stubborn = f"{life.hold} setsid sleep 999 & (setsid sh -c 'trap \\\"\\\" TERM; sleep 999' &); sleep 999"
    text = f'{quote(sys.executable)} -c "{inner}" "{stubborn}"'
    for limit in TIME_LIMITS_S:
        result = asyncio.run(bash.run(nacre.Request(text, timeout=limit)))
        assert result.timed_out
        if life.holders:
            break
    life.wait_over()
