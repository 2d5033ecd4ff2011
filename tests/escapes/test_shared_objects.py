"""Attempts on other objects that a user's programs share: futexes, message queues, abstract sockets, named pipes."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import ToolContext
from tests.escapes.inside import needs_landlock, python, run_restricted, run_unrestricted
from tests.support.hosts import run_host
from tests.support.mounts import in_own_mounts
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]

_FUTEX = {"x86_64": 202, "aarch64": 98}.get(os.uname().machine)
_WAIT, _WAKE = 0, 1
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

needs_numbers = pytest.mark.skipif(_FUTEX is None, reason="unknown system call numbers")


class Waiter:
    """A thread that waits on a futex in file-backed memory until it is woken, at most a minute."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(4096))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 4096)
        self._word = ctypes.c_int.from_buffer(self._memory)
        self._thread = threading.Thread(target=self._wait)
        self._thread.start()

    def _wait(self) -> None:
        most = (ctypes.c_long * 2)(60, 0)
        _libc.syscall(_FUTEX, ctypes.byref(self._word), _WAIT, 0, most, 0, 0)

    def wake(self) -> int:
        """Wake the waiter; return how many threads were woken."""
        return int(_libc.syscall(_FUTEX, ctypes.byref(self._word), _WAKE, 1, 0, 0, 0))

    def close(self) -> None:
        self._word.value = 1
        wait_until(lambda: self.wake() >= 0 and not self._thread.is_alive(), "the thread that waits", within=90)
        self._thread.join()


@pytest.fixture
def waiter(tmp_path: Path) -> Iterator[Waiter]:
    made = Waiter(tmp_path / "memory")
    yield made
    made.close()


MOVE = """
    import mmap, time
    memory, elsewhere = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 4096, prot=mmap.PROT_READ), mmap.mmap(-1, 4096)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, os.open(sys.argv[1], os.O_RDONLY), ctypes.c_long(0))
    there = ctypes.addressof(ctypes.c_char.from_buffer(elsewhere))
    for _ in range(2000):  # until it waits
        for command in (3, 4, 12):
            try:
                moved = call(202, 98, address, command, 0, 1, there, 0)
            except OSError as error:
                if error.errno in (errno.ENOSYS, errno.EPERM):
                    print("refused")
                    sys.exit()
                moved = 0
            if moved:
                print("moved")
                call(202, 98, there, 1, 1, 0, 0, 0)
                sys.exit()
        time.sleep(0.005)
"""


@needs_numbers
async def test_futex_waiter_cannot_be_requeued_through_read_only_memory(waiter: Waiter, tmp_path: Path) -> None:
    result = await run_restricted(python(MOVE, tmp_path / "memory"))
    assert result.output == "refused\n"
    assert wait_until(waiter.wake, "a waiter on the futex") == 1


@needs_numbers
async def test_futex_waiter_can_be_requeued_from_outside_the_sandbox(waiter: Waiter, tmp_path: Path) -> None:
    assert (await run_unrestricted(python(MOVE, tmp_path / "memory"))).output == "moved\n"


@needs_numbers
async def test_threads_and_locks_of_a_command_work() -> None:
    program = """
        import threading
        ready, seen = threading.Condition(), []
        def wait():
            with ready:
                ready.wait_for(lambda: seen)
        threads = [threading.Thread(target=wait) for _ in range(8)]
        for each in threads: each.start()
        with ready:
            seen.append(1)
            ready.notify_all()
        for each in threads: each.join()
        print("joined")
    """
    assert (await run_restricted(python(program))).output == "joined\n"


QUEUE = """
    import asyncio, ctypes, os, sys
    from tests.escapes.inside import run_restricted, run_unrestricted, python

    TAKE = '''
        fd = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
        name = os.path.basename(sys.argv[1]).encode()
        print(said(call, 243, 183, fd, bytes(8192), 8192, 0, 0), said(call, 244, 184, fd, 0),
              said(call, 245, 185, fd, 0, bytes(64)),
              said(call, 242, 182, fd, b"x", 1, 0, 0), said(call, 241, 181, name))
    '''
    libc = ctypes.CDLL(None, use_errno=True)
    make, remove, send = {"x86_64": (240, 241, 242), "aarch64": (180, 181, 182)}[os.uname().machine]
    path = f"{sys.argv[1]}/nacre-test-{os.urandom(8).hex()}"
    name = os.path.basename(path).encode()
    queue = libc.syscall(make, name, os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o600, None)
    if queue < 0:
        sys.exit("no message queue can be made")
    try:
        libc.syscall(send, queue, b"hello", 5, 0, None)
        for run in (run_restricted, run_unrestricted):
            print(asyncio.run(run(python(TAKE, path))).output.split(), os.pread(queue, 7, 0).decode())
    finally:
        libc.syscall(remove, name)
"""


@needs_numbers
def test_readable_message_queue_file_cannot_be_drained(tmp_path: Path) -> None:
    """All of these calls except `mq_open` take a descriptor, and any file of that file system is one."""
    (tmp_path / "queues").mkdir()
    through = in_own_mounts('mount -t mqueue none "$1"', tmp_path / "queues")
    refused, taken = run_host(QUEUE, tmp_path / "queues", through=through).splitlines()
    assert refused == f"{['EPERM'] * 5} QSIZE:5"
    assert taken == "['done', 'done', 'done', 'EBADF', 'done'] QSIZE:0"


TAKE = """
    import socket
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    print(said(pair[0].bind, b"\\0" + sys.argv[1].encode()), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_abstract_socket_name_cannot_be_taken(access: str, tmp_path: Path) -> None:
    """A socket of a pair needs no name, but the kernel would bind it, and no other process could use the name."""
    name = f"nacre-test-{os.urandom(8).hex()}"
    context = ToolContext(access="restricted" if access == "restricted" else "workspace", working_dir=tmp_path)
    assert (await UNCHECKED.run(python(TAKE, name), context)).output == "EPERM\n"
    assert (await run_unrestricted(python(TAKE, name))).output == "done\n"
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(b"\0" + name.encode())


PIPE = """
    print(said(os.open, sys.argv[1], os.O_WRONLY | os.O_NONBLOCK), said(os.open, sys.argv[1], os.O_RDWR))
"""


async def test_named_pipe_outside_cannot_be_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        denied = errno.errorcode[errno.EACCES]
        assert (await run_restricted(python(PIPE, tmp_path / "pipe"))).output == f"{denied} {denied}\n"
        assert (await run_unrestricted(python(PIPE, tmp_path / "pipe"))).output == "done done\n"
    finally:
        os.close(reader)
