"""Attempts to use more than a limit allows without being counted."""

from __future__ import annotations

import resource
import shlex
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from nacre import Limits, Request, Result, ToolContext
from nacre.keeper.client import watchdog
from nacre.result import Exited, OverLimit, TimedOut
from nacre.types import MIB, Access
from tests.escapes.inside import needs_landlock, run_restricted, run_unrestricted
from tests.support.lifeline import Lifeline
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008", "M-11")]

CHILDREN_BEYOND_ONE_PAGE = 1200
"""More children of one process than the PIDs that one page of procfs holds."""


def needs_processes(count: int) -> pytest.MarkDecorator:
    soft = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    return pytest.mark.skipif(0 <= soft < 3 * count, reason=f"this user may have no more than {soft} processes")


def python(program: str) -> str:
    return f"{shlex.quote(sys.executable)} -IS -c {shlex.quote(dedent(program))}"


async def run(
    command: str, place: Path, limits: Limits, *, access: Access = "unrestricted", timeout: float = HANG_TIMEOUT_S
) -> Result:
    context = ToolContext(access=access, working_dir=place, limits=limits)
    return await UNCHECKED.run(Request(command, timeout=timeout), context)


# memory

# Four files of 40 MB are always in flight; one after another is taken out and replaced. No process has them open or
# mapped, and of the file that is being written there are never more than 40 MB.
IN_FLIGHT = """
    import os, socket, time
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    sent = 0
    while True:
        file = os.memfd_create("x")
        for _ in range(40): os.write(file, bytes(1 << 20))
        time.sleep(0.2)
        if sent >= 4: os.close(socket.recv_fds(ends[1], 1, 1)[1][0])
        socket.send_fds(ends[0], [b"x"], [file])
        os.close(file)
        sent += 1
"""


async def test_memory_in_flight_between_processes_counts(tmp_path: Path) -> None:
    result = await run(python(IN_FLIGHT), tmp_path, Limits(memory=80 * MIB))
    assert isinstance(result.outcome, OverLimit)
    assert (result.outcome.limit, result.outcome.allowed) == ("memory", 80 * MIB)
    assert result.running == ()


async def test_memory_in_flight_in_many_small_files_counts(tmp_path: Path) -> None:
    """Fifty pieces of 4 MB, again and again, each open so briefly that few are seen."""
    program = """
        import os, socket, time
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        piece = bytes(4 << 20)
        while True:
            for _ in range(50):
                file = os.memfd_create("x")
                os.write(file, piece)
                socket.send_fds(ends[0], [b"x"], [file])
                os.close(file)
            time.sleep(0.2)
            for _ in range(50): os.close(socket.recv_fds(ends[1], 1, 1)[1][0])
    """
    result = await run(python(program), tmp_path, Limits(memory=90 * MIB))
    assert isinstance(result.outcome, OverLimit)
    assert result.outcome.limit == "memory"


async def test_received_and_closed_files_no_longer_count(tmp_path: Path) -> None:
    """A small file is always in flight; large ones come and go at the same time."""
    program = """
        import os, socket, time
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        socket.send_fds(ends[0], [b"x"], [0])
        for _ in range(20):
            file = os.memfd_create("x")
            for _ in range(20): os.write(file, bytes(1 << 20))
            time.sleep(0.06)
            os.close(file)
        print("done")
    """
    result = await run(python(program), tmp_path, Limits(memory=80 * MIB))
    assert (result.outcome, result.output) == (Exited(0), "done\n")


async def test_freed_memory_no_longer_counts(tmp_path: Path) -> None:
    """The same files, closed instead of sent; a descriptor of another file is received at once."""
    program = """
        import os, socket
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for _ in range(8):
            file = os.memfd_create("x")
            for _ in range(40): os.write(file, bytes(1 << 20))
            socket.send_fds(ends[0], [b"x"], [0])
            os.close(socket.recv_fds(ends[1], 1, 1)[1][0])
            os.close(file)
        print("done")
    """
    result = await run(python(program), tmp_path, Limits(memory=80 * MIB))
    assert (result.outcome, result.output) == (Exited(0), "done\n")


SEND = """
    import os, socket
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ends[0].send(b"plain")
    print(ends[1].recv(5).decode())
    for send in (
        lambda: socket.send_fds(ends[0], [b"x"], [0]),
        lambda: ends[0].sendmsg([b"x"]),
    ):
        try: send()
        except OSError as error: print(error.strerror)
        else: print("sent")
"""


@needs_landlock
async def test_restricted_mode_cannot_send_fds() -> None:
    refused = "Operation not permitted\n"
    assert (await run_restricted(python(SEND))).stdout == f"plain\n{refused}{refused}"
    assert (await run_unrestricted(python(SEND))).stdout == "plain\nsent\nsent\n"


# One byte of a huge page in a pipe keeps the whole page, which no process maps any more.
SPLICE = """
    import ctypes, errno, mmap, os
    libc = ctypes.CDLL(None, use_errno=True)
    memory = mmap.mmap(-1, 1 << 16)
    memory[0] = 1
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    vector = (ctypes.c_ulong * 2)(address, 1)
    done = libc.vmsplice(os.pipe()[1], vector, ctypes.c_ulong(1), 0)
    print(done if done >= 0 else errno.errorcode[ctypes.get_errno()])
"""


@needs_landlock
@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_memory_cannot_be_kept_in_pipes_with_vmsplice(access: Access, tmp_path: Path) -> None:
    if not (free := await run_unrestricted(python(SPLICE))).ok or free.stdout != "1\n":
        pytest.skip(f"vmsplice does not work here: {free.output}")
    assert (await run(python(SPLICE), tmp_path, Limits(memory=1024 * MIB), access=access)).stdout == "ENOSYS\n"


async def test_page_tables_count_as_memory(tmp_path: Path) -> None:
    """Reading one zero page in every 2 MB of a large mapping makes nothing resident, but each needs a page table."""
    program = """
        import mmap, signal
        size = 1 << 42
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
        if hasattr(mmap, "MADV_NOHUGEPAGE"): memory.madvise(mmap.MADV_NOHUGEPAGE)
        for place in range(0, size, 1 << 21):
            memory[place]
            if place == 40_000 << 21: break
        print("touched", flush=True)
        signal.pause()
    """
    result = await run(python(program), tmp_path, Limits(memory=80 * MIB))
    if "MemoryError" in result.stderr or "Cannot allocate" in result.stderr:
        pytest.skip("a mapping of that size is not allowed here")
    assert isinstance(result.outcome, OverLimit)
    assert result.outcome.limit == "memory"


# CPU time

IGNORED = """
    import os, signal, time
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in range(20):
        child = os.fork()
        if not child:
            while time.process_time() < 0.3: pass
            os._exit(0)
        try: os.waitpid(child, 0)
        except ChildProcessError: pass
"""


async def test_cpu_time_of_unreaped_children_counts(tmp_path: Path) -> None:
    """Six seconds in all, of which the kernel reports none: the parent ignores SIGCHLD."""
    result = await run(python(IGNORED), tmp_path, Limits(cpu=2))
    assert isinstance(result.outcome, OverLimit)
    assert (result.outcome.limit, result.outcome.allowed) == ("cpu", 2)


ORPHANS = """
    import os, time
    for _ in range(100):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            if os.fork(): os._exit(0)
            start = time.process_time()
            while time.process_time() < start + 0.015: pass
            os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        os.read(read, 1)
        os.close(read)
"""


async def test_cpu_time_of_short_lived_orphans_counts(tmp_path: Path) -> None:
    """A second and a half, one after another; most are dead before the keeper sees them."""
    result = await run(python(ORPHANS), tmp_path, Limits(cpu=1.4))
    assert isinstance(result.outcome, OverLimit)
    assert result.outcome.limit == "cpu"


async def test_cpu_time_is_not_counted_twice(tmp_path: Path) -> None:
    """Children that are waited for, some by a parent that has not waited for others; orphans; one after another."""
    program = """
        import os, signal, time
        def burn(seconds):
            start = time.process_time()
            while time.process_time() < start + seconds: pass
        def child(work):
            pid = os.fork()
            if not pid:
                work()
                os._exit(0)
            return pid
        def waited(): os.waitpid(child(lambda: burn(0.15)), 0)
        def orphan():
            read, write = os.pipe()
            os.waitpid(child(lambda: child(lambda: burn(0.15))), 0)
            os.close(write)
            os.read(read, 1)
        def nested(): os.waitpid(child(waited), 0)
        for _ in range(3):
            waited()
            orphan()
            nested()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for _ in range(3):
            try: waited()
            except ChildProcessError: pass
        print(2.0)
    """
    result = await run(python(program), tmp_path, Limits(cpu=3))
    assert (result.outcome, result.output) == (Exited(0), "2.0\n")


# processes and threads

THREADS = """
    import sys, threading
    threading.stack_size(1 << 16)
    gate = threading.Event()
    started = []
    try:
        for _ in range({count}):
            started.append(threading.Thread(target=gate.wait))
            started[-1].start()
    except RuntimeError:
        pass  # the kernel's own limit on a user
    if {stays}: gate.wait()
    gate.set()
    print("had", len(started))
"""


async def test_thread_flood_is_killed_and_named(tmp_path: Path) -> None:
    result = await run(python(THREADS.format(count=1000, stays=True)), tmp_path, Limits(processes=20))
    if result.outcome == Exited(0) or "can't start" in result.stderr:
        pytest.skip(f"not enough threads are allowed here: {result.output}")
    assert isinstance(result.outcome, OverLimit)
    assert (result.outcome.limit, result.outcome.allowed) == ("threads", 256)
    assert "over its limit of 256 threads" in result.summary


async def test_program_with_many_threads_is_left_alone(tmp_path: Path) -> None:
    """The limit is only a few processes."""
    result = await run(python(THREADS.format(count=120, stays=False)), tmp_path, Limits(processes=5))
    assert (result.outcome, result.output) == (Exited(0), "had 120\n")


CHILDREN = f"""
    import os, signal, sys
    for started in range({CHILDREN_BEYOND_ONE_PAGE}):
        try:
            if not os.fork(): signal.pause()
        except BlockingIOError:  # a limit of the machine or of a container
            sys.exit(f"only {{started}} processes")
    print("all up", flush=True)
    if sys.argv[1:]: signal.pause()
"""


def skip_unless_started(result: Result) -> None:
    if result.outcome == Exited(1) and "only " in result.stderr:
        pytest.skip(f"{CHILDREN_BEYOND_ONE_PAGE} processes are not allowed here: {result.stderr.strip()}")


@needs_processes(CHILDREN_BEYOND_ONE_PAGE)
async def test_children_beyond_one_page_of_procfs_are_counted(
    tmp_path: Path,
) -> None:
    result = await run(f"{python(CHILDREN)} stay", tmp_path, Limits(processes=CHILDREN_BEYOND_ONE_PAGE - 100))
    skip_unless_started(result)
    assert isinstance(result.outcome, OverLimit)
    assert (result.outcome.limit, result.outcome.allowed) == ("processes", CHILDREN_BEYOND_ONE_PAGE - 100)
    assert result.running == ()


@needs_processes(CHILDREN_BEYOND_ONE_PAGE)
async def test_all_leftovers_of_a_process_flood_are_killed_and_listed(tmp_path: Path, life: Lifeline) -> None:
    """The shell has exited. Its leftovers are children of the keeper, more than the kernel lists in one read."""
    request = Request(f"{life.hold} {python(CHILDREN)}", leftovers="end", timeout=HANG_TIMEOUT_S)
    result = await UNCHECKED.run(request, ToolContext(working_dir=tmp_path))
    skip_unless_started(result)
    assert (result.outcome, len(result.killed_leftovers), result.running) == (Exited(0), CHILDREN_BEYOND_ONE_PAGE, ())
    assert life.over


async def test_busy_keeper_that_is_late_does_not_make_a_run_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a flood of processes leaves it little CPU time: here the keeper counts as late during the grace."""
    monkeypatch.setattr(watchdog, "_KEEPER_TIMEOUT_S", 30.0)
    monkeypatch.setattr(watchdog, "UNKILLABLE_AFTER_S", -31.0)
    request = Request("trap '' TERM; while :; do sleep 0.05; done", timeout=0.3)
    result = await UNCHECKED.run(request, ToolContext(working_dir=tmp_path))
    assert result.outcome == TimedOut(0.3)
