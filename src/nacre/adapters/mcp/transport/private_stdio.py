"""The standard streams of a server: two private files in their place, for the protocol alone.

Afterwards 0 is empty and 1 is stderr: a print, a warning, a library or a child that writes to stdout writes to stderr,
and none of them can read what the client sends. Nothing of the protocol's files is inherited. Where a client has made
stdout and stderr one, what is for stderr is lost: it would be in the middle of the protocol.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from typing import BinaryIO

from nacre.adapters.mcp.surrogates import without_surrogates
from nacre.base.frozen import frozen

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Bytes of a message. A longer line is dropped."""
_FIRST_FREE_FD = 3
_is_taken: list[object] = []
"""Never closed: a thread may be reading still, or writing, when all else is over."""


@frozen
class PrivateStdio:
    """Where the client is."""

    reads: BinaryIO
    writes: BinaryIO


def take_standard_streams() -> PrivateStdio:
    """Take the standard streams. To be called before anything else can print."""
    reads = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD)
    writes = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD)
    for fd in (reads, writes):
        if not os.get_blocking(fd):  # as some clients leave them
            os.set_blocking(fd, True)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    if os.path.sameopenfile(writes, 2) and not os.isatty(2):
        os.dup2(nothing, 2)
    os.close(nothing)
    os.dup2(2, 1)
    wire = PrivateStdio(os.fdopen(reads, "rb"), os.fdopen(writes, "wb", buffering=0))
    _is_taken.append(wire)
    return wire


class StdinLines:
    """What the client sends, a line each. A read that nobody waits for any more is left behind."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[str]:
        from anyio.to_thread import run_sync

        while line := await run_sync(self._line, abandon_on_cancel=True):
            try:
                yield without_surrogates(line).decode()
            except UnicodeDecodeError:  # not mended: it may be a command, and would be another one
                yield "a line that is not UTF-8\n"

    def _line(self) -> bytes:
        try:
            line = self._file.readline(MAX_MESSAGE_BYTES)
            if len(line) < MAX_MESSAGE_BYTES or line.endswith(b"\n"):
                return line
            while (rest := self._file.readline(MAX_MESSAGE_BYTES)) and not rest.endswith(b"\n"):
                pass
        except ConnectionError:  # a socket whose other end is gone
            return b""
        return b"a line that is too long\n"  # is no message either


class StdoutWriter:
    """What the client gets. A client that does not read holds up nothing but its own answers."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    async def write(self, text: str) -> None:
        from anyio.to_thread import run_sync

        await run_sync(self._write, text.encode("utf-8", "replace"), abandon_on_cancel=True)

    async def flush(self) -> None:
        """Nothing is held back."""

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]
