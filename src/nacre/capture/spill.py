"""The spill file: output beyond what memory keeps, in order of arrival, up to a size limit. Private (mode 0600).

A full disk, a missing directory or the size limit make it incomplete; they never disturb the run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

from nacre.base.system import require_free_space
from nacre.errors import NacreError
from nacre.result import Spill

_BLOCK_BYTES = 1024 * 1024


class SpillFile:
    """A spill file, created on construction. I/O errors go to `problem` and are not raised."""

    __slots__ = ("_cap", "_fd", "_is_created", "complete", "path", "problem", "written_bytes")

    def __init__(self, directory: Callable[[], str], name: str, cap: int) -> None:
        self._cap = cap
        self.written_bytes = 0
        self.complete = True
        self.problem = ""
        """Why it could not be written, as the system's error message."""
        self._fd: int | None = None
        self._is_created = False
        self.path = "a file"
        try:
            place = directory()
            self.path = os.path.join(place, f"{name}-{os.urandom(4).hex()}.log")
            os.makedirs(place, mode=0o700, exist_ok=True)
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            self._is_created = True
        except (OSError, NacreError) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.complete = False
        self.problem = getattr(error, "strerror", None) or str(error)

    def write(self, data: bytes) -> None:
        """Append data, as far as size limit and disk allow."""
        if self._fd is None:
            self.complete = False
            return
        if self.written_bytes + len(data) > self._cap:
            self.complete = False
            data = data[: self._cap - self.written_bytes]
        try:
            require_free_space(self._fd, len(data))
            view = memoryview(data)
            while view:
                count = os.write(self._fd, view)
                self.written_bytes += count
                view = view[count:]
        except OSError as error:
            self._fail(error)
        if not self.complete:
            self.close()

    def blocks(self) -> Iterator[bytes]:
        """Yield the content of the file."""
        with contextlib.suppress(OSError), open(self.path, "rb") as file:
            while block := file.read(_BLOCK_BYTES):
                yield block

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def finish(self) -> Spill | None:
        """Close the file. Return None, and remove the file, if nothing was written."""
        self.close()
        if not self.written_bytes:
            self.discard()
            return None
        return Spill(path=self.path, bytes=self.written_bytes, complete=self.complete)

    def discard(self) -> None:
        """Close and remove the file."""
        self.close()
        if self._is_created:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
