"""Attempts on processes outside the run: the host, its keeper, a program of the test, other runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nacre import Request, Started, ToolContext
from nacre.result import Exited
from nacre.types import Access
from tests.escapes.inside import needs_landlock, needs_scopes, python, run_restricted, run_unrestricted
from tests.support.census import is_alive, need_to_see, status
from tests.support.hosts import run_host
from tests.support.lifeline import Gate
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import until, wait_until

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process of this user unrelated to nacre, in its own process group."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True, env={"SECRET": "in its environment"}) as process:
        wait_until(lambda: "sleep" in Path(f"/proc/{process.pid}/comm").read_text(), "the beginning of sleep")
        yield process
        process.kill()


@asynccontextmanager
async def alive_run(access: Access, gate: Gate) -> AsyncIterator[int]:
    """Yield the shell of another run, which waits."""
    stream = UNCHECKED.stream(Request(gate.wait), ToolContext(access=access))
    first = await anext(stream)
    assert isinstance(first, Started)
    try:
        yield first.pid
    finally:
        gate.open()
        async for _ in stream:
            pass


async def keeper() -> int:
    return int((await run_unrestricted("echo $PPID")).stdout)


SIGNALS = """
    import signal
    number, targets = int(sys.argv[1]), list(map(int, sys.argv[2:]))
    def by_descriptor(pid):
        signal.pidfd_send_signal(os.pidfd_open(pid), number)
    def queue(pid):
        call(129, 138, pid, number, struct.pack("iii", number, 0, -1).ljust(128, bytes(1)))
    def queue_to_thread(pid):
        call(297, 240, pid, pid, number, struct.pack("iii", number, 0, -1).ljust(128, bytes(1)))
    ways = {
        "kill": lambda pid: os.kill(pid, number),
        "tkill": lambda pid: call(200, 130, pid, number),
        "tgkill": lambda pid: call(234, 131, pid, pid, number),
        "queue": queue,
        "queue_to_thread": queue_to_thread,
        "descriptor": by_descriptor,
    }
    print(*sorted({said(way, pid) for pid in targets for way in ways.values()}))
"""


@needs_scopes
async def test_process_outside_cannot_be_signalled(victim: subprocess.Popen[bytes], gate: Gate, tmp_path: Path) -> None:
    other_gate = Gate(tmp_path / "other-gate")
    async with alive_run("restricted", gate) as neighbour, alive_run("unrestricted", other_gate) as free:
        targets = (os.getpid(), await keeper(), victim.pid, neighbour, free, os.getppid())
        harmless = await run_restricted(python(SIGNALS, 0, *targets))
        waking = await run_restricted(python(SIGNALS, 18, *targets))
        killing = await run_restricted(python(SIGNALS, 9, victim.pid))
        group = await run_restricted(f"kill -9 -{victim.pid}")
        assert (harmless.output, waking.output, killing.output) == ("EPERM\n",) * 3
        assert group.outcome == Exited(1)
        assert all(map(is_alive, (victim.pid, neighbour, free)))
    other_gate.close()


@needs_scopes
async def test_keeper_threads_cannot_be_signalled() -> None:
    need_to_see(await keeper())
    program = """
        print(sorted({said(call, *way) for tid in map(int, os.listdir(f"/proc/{os.getppid()}/task")) for way in (
            (200, 130, tid, 0), (234, 131, os.getppid(), tid, 0), (234, 131, tid, tid, 0), (62, 129, tid, 0))}))
    """
    results = [await run_restricted("exec " + python(program)) for _ in range(10)]
    assert {result.output for result in results} == {"['EPERM']\n"}


@needs_scopes
async def test_fd_owner_signal_reaches_no_process_outside(victim: subprocess.Popen[bytes]) -> None:
    program = """
        import fcntl, socket
        pid = int(sys.argv[1])
        def pull(own):
            a, b = os.pipe() if own != "ioctl" else [each.detach() for each in socket.socketpair()]
            if own == "ioctl":
                fcntl.ioctl(a, 0x8901, struct.pack("i", pid))
            elif own == "group":
                fcntl.fcntl(a, fcntl.F_SETOWN, -pid)
            elif own == "process":
                fcntl.fcntl(a, fcntl.F_SETOWN, pid)
            else:
                fcntl.fcntl(a, 15, struct.pack("ii", 0, pid))
            fcntl.fcntl(a, 10, 9)
            fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            os.write(b, b"x")
        print(*(said(pull, own) for own in ("process", "thread", "group", "ioctl")))
    """
    await run_restricted(python(program, victim.pid))
    assert is_alive(victim.pid)
    await run_unrestricted(python(program, victim.pid))
    await until(lambda: not is_alive(victim.pid), "the proof that it could have been done")


@needs_scopes
async def test_run_can_signal_its_own_processes() -> None:
    result = await run_restricted(
        "sleep 60 & kill $!; wait $!; echo $?; setsid sleep 60 & kill -9 $!; wait $!; echo $?"
    )
    assert result.stdout == "143\n137\n"


TRACING = {
    "attach": "call(101, 117, 16, pid, 0, 0)",
    "seize": "call(101, 117, 0x4206, pid, 0, 0)",
    "read-memory": "call(310, 270, pid, struct.pack('QQ', place, 8), 1, struct.pack('QQ', place, 8), 1, 0)",
    "write-memory": "call(311, 271, pid, struct.pack('QQ', place, 8), 1, struct.pack('QQ', place, 8), 1, 0)",
    "take-a-descriptor": "call(438, 438, os.pidfd_open(pid), 0, 0)",
    "compare": "call(312, 272, os.getpid(), pid, 0, 0, 0)",
    "advise": "call(440, 440, os.pidfd_open(pid), struct.pack('QQ', place, 8), 1, 20, 0)",
    "reap-memory": "call(448, 448, os.pidfd_open(pid), 0)",
    "move-pages": "call(279, 239, pid, 0, 0, 0, 0, 0)",
    "migrate-pages": "call(256, 238, pid, 1, struct.pack('Q', 1), struct.pack('Q', 1))",
    "limits": "call(302, 261, pid, 7, struct.pack('QQ', 1000, 1000), 0)",
    "limits-asked-for": "call(302, 261, pid, 7, 0, ctypes.create_string_buffer(16))",
    "priority": "os.setpriority(os.PRIO_PROCESS, pid, 5)",
    "priority-of-a-group": "os.setpriority(os.PRIO_PGRP, pid, 5)",
    "io-priority": "call(251, 30, 1, pid, 3 << 13)",
    "affinity": "os.sched_setaffinity(pid, [0])",
    "scheduler": "os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))",
    "scheduler-attributes": "call(314, 274, pid, struct.pack('IIQiIQQQ', 48, 3, 0, 5, 0, 0, 0, 0), 0)",
    "performance": "call(298, 241, struct.pack('IIQ', 1, 112, 0).ljust(112, bytes(1)), pid, -1, -1, 0)",
}


@pytest.mark.parametrize("attempt", TRACING.values(), ids=TRACING)
async def test_process_outside_cannot_be_traced_or_tuned(victim: subprocess.Popen[bytes], attempt: str) -> None:
    before = facts(victim.pid)
    program = f"""
        place = ctypes.addressof(ctypes.create_string_buffer(16))
        def attempt(pid):
            {attempt}
        print(*(said(attempt, pid) for pid in map(int, sys.argv[1:])))
    """
    result = await run_restricted(python(program, victim.pid, await keeper(), os.getpid()))
    assert result.output == "EPERM EPERM EPERM\n"
    assert facts(victim.pid) == before


def facts(pid: int) -> tuple[object, ...]:
    fields = ("TracerPid", "Cpus_allowed", "Uid")
    seen = status(pid)
    limits = Path(f"/proc/{pid}/limits").read_text()
    return [seen[field] for field in fields], limits, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)


async def test_other_processes_of_the_user_keep_their_priority() -> None:
    # -20 would be refused for all of them and change none, even if the call came through
    program = """
        powers = [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "NoNewPrivs"))]
        assert powers == ["0000000000000000", "1"]
        print(*(said(call, 141, 140, which, 0, -20) for which in (0, 1, 2)))
        print(*(said(call, 251, 30, which, 0, 7 << 13) for which in (1, 2, 3)))
    """
    result = await run_restricted(python(program))
    assert result.output == "EACCES EACCES EPERM\nEINVAL EINVAL EPERM\n"


async def test_run_can_lower_its_own_priority_and_limits() -> None:
    result = await run_restricted("nice -n 5 nice; ulimit -Sn 100; ulimit -n; ulimit -a >/dev/null; echo $?")
    assert result.output == f"{min(19, os.nice(0) + 5)}\n100\n0\n"  # added to the niceness of these tests


FILES = "environ mem maps auxv stack syscall cwd root exe fd/0 fdinfo/0 io smaps pagemap personality map_files".split()


async def test_memory_and_environment_of_outside_processes_are_unreadable(victim: subprocess.Popen[bytes]) -> None:
    program = f"""
        import json
        keeper, *others = map(int, sys.argv[1:])
        places = [f"/proc/{{pid}}" for pid in (keeper, *others)]
        places += [f"/proc/{{keeper}}/task/{{tid}}" for tid in os.listdir(f"/proc/{{keeper}}/task")]
        def look(path):
            if os.path.isdir(path) and not path.endswith(("/cwd", "/root")):
                return os.listdir(path) or os.read(os.open(path + "/nothing", os.O_RDONLY), 1)
            elif path.endswith(("/cwd", "/root", "/exe", "/fd/0")):
                return os.readlink(path)
            file = os.open(path, os.O_RDONLY)
            os.lseek(file, 4096 if path.endswith("/mem") else 0, 0)
            return os.read(file, 100)
        found = {{}}
        for place in places:
            for name in {FILES}:
                answer = said(look, f"{{place}}/{{name}}")
                if answer == "done":
                    found[f"{{place}}/{{name}}"] = repr(look(f"{{place}}/{{name}}"))
        print(json.dumps(found))
    """
    need_to_see(await keeper())
    result = await run_restricted(python(program, await keeper(), os.getpid(), victim.pid))
    assert json.loads(result.stdout) == {}, result.output


async def test_run_can_read_its_own_environment() -> None:
    result = await run_restricted("cat /proc/self/environ | tr '\\0' '\\n' | grep -c ^TMPDIR=; readlink /proc/self/cwd")
    assert result.stdout == f"1\n{os.getcwd()}\n"


async def test_neighbour_run_cannot_be_read_or_written(gate: Gate) -> None:
    async with alive_run("restricted", gate) as neighbour:
        spy = (
            f"for f in environ mem maps cwd/x fd/0; do cat /proc/{neighbour}/$f; done; readlink /proc/{neighbour}/fd/*"
        )
        result = await run_restricted(f"{spy}; echo x >/proc/{neighbour}/fd/1; echo x >/proc/{neighbour}/cwd/x")
        assert (result.outcome, result.stdout) == (Exited(1), "")


async def test_process_cannot_remove_the_tag_of_its_run(gate: Gate) -> None:
    """A process cannot remove the tag by which the keeper finds it: it would outlive its run."""
    program = """
        import signal
        for limit in (struct.pack("QQ", 5, 5), struct.pack("Qq", 5, -1)):
            print(said(call, 160, 164, 10, limit), said(call, 302, 261, 0, 10, limit, 0), flush=True)
        if os.fork():
            os._exit(0)
        os.setsid()
        os.closerange(0, 64)
        if os.fork():
            os._exit(0)
        open(os.environ["TMPDIR"] + "/there", "w")
        signal.pause()
    """
    async with alive_run("restricted", gate):  # with a single run, an untagged process could only be that run's
        result = await run_restricted(python(program) + '; until [ -e "$TMPDIR/there" ]; do :; done', leftovers="end")
        assert result.output == "EPERM EPERM\n" * 2
        assert [sys.executable in left.command for left in result.killed_leftovers] == [True]
        assert not is_alive(result.killed_leftovers[0].pid)


def test_keeper_that_cannot_start_a_thread_reports_it_and_survives(tmp_path: Path) -> None:
    program = """
        import resource, nacre
        from tests.support.census import need_to_see, status
        keeper = int(nacre.run_sync("echo $PPID").stdout)
        need_to_see(keeper)
        before = resource.prlimit(keeper, resource.RLIMIT_AS)
        size = int(status(keeper)["VmSize"].split()[0]) * 1024
        resource.prlimit(keeper, resource.RLIMIT_AS, (size + 6 * 1024 * 1024, before[1]))
        print(nacre.run_sync("true", access="restricted").summary)
        resource.prlimit(keeper, resource.RLIMIT_AS, before)
        result = nacre.run_sync("echo $PPID", access="restricted")
        print(int(result.stdout) == keeper, result.enforced[0])
    """
    assert run_host(program).splitlines() == ["could not start: Resource temporarily unavailable", "True writes"]
