"""Client of a task's keeper: is it alive, how much was printed, has the task ended, kill it.

`watch N` is answered by `at M` once the command has printed more than N bytes, or by `end`. `watch -1` is answered at
once, with the current size. A connection that closes without `end` means that the keeper is gone.
"""

from __future__ import annotations

import errno
import os
import resource
import socket
import stat
import sys
import time

from nacre.keeper.protocol.task_dir import CONTROL
from nacre.tasks.store.directory import InvalidTaskDirectory, TaskDirectory

UNTIL_END = 2**62
"""More than any task prints, so that `watch` is answered only by `end`."""
_MAX_REPLY_BYTES = 256
"""Bytes; real replies have at most 30."""
_MAX_CONNECTIONS = 256
"""Connections held open at once."""
_DESCRIPTOR_DIR = "/proc/self/fd"
_BY_DESCRIPTOR = hasattr(os, "O_PATH") and os.path.isdir(_DESCRIPTOR_DIR)
"""Whether to connect through /proc/self/fd: the path may be longer than a socket address (108 bytes), and the socket
that was checked is the one connected to."""
_SOCKET = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_LISTENING_ERRNOS = (errno.ECONNREFUSED, errno.ENOENT)


def connect(folder: TaskDirectory) -> socket.socket | None:
    """Connect to the keeper's control socket; None if no process listens.

    BlockingIOError: the keeper's backlog is full. InvalidTaskDirectory: not a socket of this user. Other OSErrors:
    unknown whether a keeper listens.
    """
    try:
        fd = os.open(CONTROL, _SOCKET, dir_fd=folder.fd) if _BY_DESCRIPTOR else None
        status = os.stat(CONTROL, dir_fd=folder.fd, follow_symlinks=False) if fd is None else os.fstat(fd)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid != folder.user:
            raise InvalidTaskDirectory(f"{CONTROL} is not nacre's socket")
        return _connect_socket(f"{folder.path}/{CONTROL}" if fd is None else f"{_DESCRIPTOR_DIR}/{fd}")
    finally:
        if fd is not None:
            os.close(fd)


def _connect_socket(address: str) -> socket.socket | None:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.setblocking(False)
        line.connect(address)
    except OSError as error:
        line.close()
        if error.errno in _NOT_LISTENING_ERRNOS:
            return None
        raise
    except BaseException:
        line.close()
        raise
    return line


def query(line: socket.socket, beyond: int, patience: float) -> int | None:
    """Return the bytes printed, once that is more than `beyond`; None if the task has ended, or its keeper is gone.

    Blocks for at most `patience` seconds. TimeoutError: no reply by then.
    """
    until = time.monotonic() + patience
    answer = b""
    try:
        line.settimeout(patience)
        line.sendall(b"watch %d\n" % beyond)
        while b"\n" not in answer:
            line.settimeout(max(0.001, until - time.monotonic()))
            more = line.recv(_MAX_REPLY_BYTES)
            answer += more
            if not more or len(answer) > _MAX_REPLY_BYTES:
                return None
    except TimeoutError:
        raise
    except OSError:
        return None
    return _amount(answer.partition(b"\n")[0])


def _amount(answer: bytes) -> int | None:
    word, _, number = answer.partition(b" ")
    return int(number) if word == b"at" and number.isdigit() and len(number) < 20 else None


class ControlConnection:
    """A connection to a keeper on the running event loop. One request at a time."""

    __slots__ = ("_answer", "_socket")

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._answer = b""

    def __enter__(self) -> ControlConnection:
        _open.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        _open.discard(self)
        self._socket.close()

    def listener(self) -> int | None:
        """Return the PID of the listening process as the kernel reports it (SO_PEERCRED); None on systems without
        that."""
        if not hasattr(socket, "SO_PEERCRED"):
            return None
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[:4], sys.byteorder)

    async def watch(self, beyond: int) -> int | None:
        """Return the bytes printed, once that is more than `beyond`; None if the task has ended, or its keeper is
        gone."""
        return _amount(await self._query(b"watch %d\n" % beyond))

    async def kill(self, number: int, grace: float) -> bool:
        """Ask the keeper to kill the task. Return whether it accepted."""
        return await self._query(b"kill %d %s\n" % (number, f"{grace:.3f}".encode())) == b"ok"

    async def close_stdin(self) -> bool:
        """Ask the keeper to close the task's standard input. Return whether it did."""
        return await self._query(b"eof\n") == b"ok"

    async def _query(self, question: bytes) -> bytes:
        """Send a request and return the reply line; empty if the keeper is gone."""
        import asyncio  # imported only for callers that wait

        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._socket, question)
            while b"\n" not in self._answer:
                more = await loop.sock_recv(self._socket, _MAX_REPLY_BYTES)
                self._answer += more
                if not more or len(self._answer) > _MAX_REPLY_BYTES:
                    return b""
        except OSError:
            return b""
        answer, _, self._answer = self._answer.partition(b"\n")
        return answer


_open: set[ControlConnection] = set()


def has_too_many() -> bool:
    """Return whether so many connections are open (256, or a quarter of RLIMIT_NOFILE) that this process may run out of
    descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return len(_open) >= (_MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(_MAX_CONNECTIONS, soft // 4))
