"""Every kind of program can be a host: threads, several event loops, forks, odd descriptors and signals."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

import nacre
from nacre import Bash, Result
from nacre.result import Exited
from tests.support.hosts import ROOT, command, run_host, started_host
from tests.support.lifeline import Gate, Lifeline


def done(result: Result) -> tuple[object, str]:
    return result.outcome, result.output


def test_a_run_works_from_a_thread() -> None:
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(nacre.run_sync("echo hi")))
    thread.start()
    thread.join()
    assert [done(result) for result in results] == [(Exited(0), "hi\n")]


def test_several_event_loops_in_threads_share_one_bash(bash: Bash) -> None:
    barrier = threading.Barrier(8)

    async def several(name: int) -> list[str]:
        barrier.wait(20)
        return [result.stdout for result in await asyncio.gather(*(bash.run(f"echo {name}.{i}") for i in range(10)))]

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda name: asyncio.run(several(name)), range(8)))
    assert said == [[f"{name}.{i}\n" for i in range(10)] for name in range(8)]


def test_asyncio_run_can_be_repeated(bash: Bash) -> None:
    assert [asyncio.run(bash.run(f"echo {i}")).stdout for i in range(5)] == [f"{i}\n" for i in range(5)]


async def test_a_synchronous_run_inside_a_running_loop_works() -> None:
    assert done(nacre.run_sync("echo hi")) == (Exited(0), "hi\n")


async def test_a_synchronous_run_inside_a_running_loop_raises_what_it_would_raise() -> None:
    with pytest.raises(nacre.InvalidRequest):
        nacre.run_sync("")


async def test_a_run_under_anyio_works(bash: Bash) -> None:
    results: list[Result] = []

    async def one(i: int) -> None:
        results.append(await bash.run(f"echo {i}"))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for i in range(5):
                group.start_soon(one, i)
    assert sorted(result.stdout for result in results) == [f"{i}\n" for i in range(5)]


def test_a_loop_that_is_closed_without_ceremony_leaves_no_complaint() -> None:
    program = """
        import asyncio, nacre
        for _ in range(3):
            loop = asyncio.new_event_loop()
            print(loop.run_until_complete(nacre.run("echo hi")).stdout, end="")
            loop.close()
    """
    assert run_host(program) == "hi\n" * 3


def test_a_loop_that_is_closed_in_mid_run_leaves_nothing_alive(life: Lifeline) -> None:
    program = """
        import asyncio, nacre, sys
        async def main():
            asyncio.create_task(nacre.run(sys.argv[1]))
            stream = nacre.Bash().stream("echo hi; sleep 999")
            async for event in stream:
                if isinstance(event, nacre.Chunk):
                    print(event.text, end="")
                    break
        asyncio.run(main())
        print(nacre.run_sync("echo next").stdout, end="")
    """
    assert run_host(program, f"{life.hold} sleep 999") == "hi\nnext\n"


def test_after_a_fork_both_parent_and_child_work_with_keepers_of_their_own() -> None:
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
def test_a_run_of_the_parent_survives_a_forked_child(ending: str, gate: Gate, tmp_path: Path) -> None:
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
    gate_path = tmp_path / "gate"
    expected = "('exit 0', 'a\\nb\\n')\n"
    assert run_host(program, f"echo a; {gate.wait}; echo b", gate_path) == expected


def test_a_forked_child_that_goes_on_inside_the_loop_can_run_commands(gate: Gate, tmp_path: Path) -> None:
    program = """
        import asyncio, os, pathlib, sys, nacre

        async def main():
            running = asyncio.create_task(nacre.run(sys.argv[1]))
            while not os.path.exists(sys.argv[3]):
                await asyncio.sleep(0.01)
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
    assert run_host(program, text, tmp_path / "gate", ready) == "a\nb\n"


def test_a_forked_child_does_not_wait_for_places_that_its_parent_holds(life: Lifeline) -> None:
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
            result = asyncio.run(asyncio.wait_for(bash.run("echo child"), 5))
            os._exit(0 if result.stdout == "child\\n" else 1)
    """
    assert run_host(program, f"{life.hold} echo a; sleep 999") == "parent 0\n"
    life.wait_over()


def test_a_multiprocessing_child_works() -> None:
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


@pytest.mark.linux  # elsewhere only the socket tells that the host is gone
def test_a_child_that_holds_the_hosts_socket_does_not_keep_its_commands_alive(life: Lifeline) -> None:
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


@pytest.mark.parametrize("disposition", ["SIG_IGN", "SIG_DFL", "handler"])
def test_a_host_may_do_with_sigchld_what_it_likes(disposition: str) -> None:
    program = f"""
        import os, signal, nacre
        called = []
        def handler(number, frame):
            called.append(number)
        signal.signal(signal.SIGCHLD, {disposition if disposition == "handler" else "signal." + disposition})
        print(nacre.run_sync("echo one; exit 3").summary)
        keeper = int(nacre.run_sync("echo $PPID").stdout)
        assert called == []
        os.kill(keeper, signal.SIGKILL)
        results = [nacre.run_sync("echo two") for _ in range(2)]
        print(results[-1].summary, results[-1].stdout)
    """
    assert run_host(program).split() == ["exit", "3", "exit", "0", "two"]


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


def test_a_host_without_a_free_descriptor_is_told_so_and_its_other_runs_go_on(gate: Gate, tmp_path: Path) -> None:
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
    assert run_host(program, f"echo a; {gate.wait}; echo b", tmp_path / "gate") == "['a\\n', 'b\\n', 'exit 0']\n"


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


def test_a_host_may_have_a_variable_without_a_name() -> None:
    starter = """
        import ctypes, os, sys
        libc = ctypes.CDLL(None)
        env = [f"{name}={value}".encode() for name, value in os.environ.items()] + [b"=nameless", b"valueless"]
        words = [word.encode() for word in (sys.executable, "-c", sys.argv[1])]
        libc.execve(words[0], (ctypes.c_char_p * 4)(*words, None), (ctypes.c_char_p * (len(env) + 1))(*env, None))
    """
    program = "import nacre; print(nacre.run_sync('echo fine').stdout, end='')"
    assert run_host(starter, program) == "fine\n"


def test_a_host_whose_directory_is_gone_can_still_run_elsewhere(tmp_path: Path) -> None:
    program = """
        import os, sys, nacre
        nacre.run_sync("true")  # everything is imported: Python itself cannot import from nowhere
        os.chdir(sys.argv[1])
        os.rmdir(sys.argv[1])
        print(nacre.run_sync("pwd", cwd="/").stdout, end="")
        try:
            nacre.run_sync("pwd")
        except nacre.InvalidRequest as error:
            print(error.code, error.field)
    """
    gone = tmp_path / "gone"
    gone.mkdir()
    assert run_host(program, gone) == "/\ncwd_missing working_dir\n"


def test_a_host_that_blocks_or_ignores_signals_does_not_pass_that_on() -> None:
    program = """
        import signal, nacre
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        lines = nacre.run_sync("cat /proc/self/status").stdout.splitlines()
        print([int(line.split()[1], 16) & 0x7fffffff for line in lines if line[:6] in ("SigBlk", "SigIgn", "SigCgt")])
        print(nacre.run_sync("kill -TERM $$; echo survived").summary)
    """
    assert run_host(program) == "[0, 0, 0]\nended by SIGTERM\n"


def test_a_host_that_is_itself_run_by_nacre_works(bash: Bash) -> None:
    inner = f"{sys.executable} -c \"import nacre; print(nacre.run_sync('echo inner').stdout)\""
    result = asyncio.run(bash.run(inner))
    assert (result.outcome, result.output.split()) == (Exited(0), ["inner"])


@pytest.mark.linux  # two keepers, two tags: only rlimits let the outer one learn the inner one's
def test_a_nested_host_and_all_it_runs_ends_with_the_run_around_it(bash: Bash, life: Lifeline) -> None:
    inner = "import nacre, sys; nacre.run_sync(sys.argv[1])"
    stubborn = f"{life.hold} setsid sleep 999 & (setsid sh -c 'trap \\\"\\\" TERM; sleep 999' &); sleep 999"
    text = f'{sys.executable} -c "{inner}" "{stubborn}"'
    result = asyncio.run(bash.run(nacre.Request(text, timeout=2)))
    assert result.timed_out
    life.wait_over()


async def test_several_hundred_at_once_all_say_their_own(bash: Bash) -> None:
    results = await asyncio.gather(*(bash.run(f"echo {i}; echo {i} >&2; exit {i % 200}") for i in range(300)))
    assert [(result.exit_code, result.stdout, result.stderr) for result in results] == [
        (i % 200, f"{i}\n", f"{i}\n") for i in range(300)
    ]
