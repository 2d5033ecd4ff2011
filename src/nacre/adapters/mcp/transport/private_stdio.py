"""Moves the standard streams to two private files for the protocol.

Afterwards stdin is empty and stdout is stderr: output of a print, a warning, a library or a child goes to stderr, and
none of them can read what the client sends. The private files are not inherited. If the client uses one pipe or file
for both stdout and stderr, stderr is discarded: it would corrupt the protocol.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from typing import BinaryIO

from nacre.adapters.mcp.surrogates import without_surrogates
from nacre.base.frozen import frozen

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Maximum size of a message. A longer line is dropped."""
_FIRST_FREE_FD = 3
_is_taken: list[object] = []
"""Keeps the files open: a thread may still be reading or writing when the rest has shut down."""


@frozen
class PrivateStdio:
    """The files connected to the client."""

    reads: BinaryIO
    writes: BinaryIO


def take_standard_streams() -> PrivateStdio:
    """Replace the standard streams and return the private files. Call before any other code can print."""
    reads = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD)
    writes = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD)
    for fd in (reads, writes):
        if not os.get_blocking(fd):  # some clients leave them non-blocking
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
    """Lines from the client. On cancellation, a blocked read is abandoned to its thread."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[str]:
        from anyio.to_thread import run_sync

        while line := await run_sync(self._line, abandon_on_cancel=True):
            try:
                yield without_surrogates(line).decode()
            except UnicodeDecodeError:  # not repaired: that could run another command than the one sent
                yield "a line that is not UTF-8\n"

    def _line(self) -> bytes:
        try:
            line = self._file.readline(MAX_MESSAGE_BYTES)
            if len(line) < MAX_MESSAGE_BYTES or line.endswith(b"\n"):
                return line
            while (rest := self._file.readline(MAX_MESSAGE_BYTES)) and not rest.endswith(b"\n"):
                pass
        except ConnectionError:  # the other end of a socket was closed
            return b""
        return b"a line that is too long\n"  # an invalid message as well


class StdoutWriter:
    """Writer to the client. A client that does not read delays only its own answers."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    async def write(self, text: str) -> None:
        from anyio.to_thread import run_sync

        await run_sync(self._write, text.encode("utf-8", "replace"), abandon_on_cancel=True)

    async def flush(self) -> None:
        """Do nothing: writes are not buffered."""

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]
