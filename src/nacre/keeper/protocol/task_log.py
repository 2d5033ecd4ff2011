"""A task's log: all output below a size limit; beyond it, the beginning and the end.

The beginning, half of the limit, is in `output.log`; the rest is in segments named by their offset in the stream, of
which the oldest are removed when there are too many. So the name and size of a file always tell which part of the
stream it holds, even if the keeper dies. At the end the segments are appended to `output.log`, with a line that marks
each gap. On a disk that is full or below its reserve, output is dropped and leaves a gap; the writing processes are not
disturbed.

Paths are relative to an open directory.
"""

from __future__ import annotations

import os
import time

from nacre.base.system import require_free_space
from nacre.keeper.protocol.task_dir import LOG, head_bytes, segment_bytes, segment_name, segment_offset

_FULL_DISK_RETRY_S = 1.0
"""Seconds until writing to a full disk is tried again."""
_COPY_BYTES = 1024 * 1024
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTE = b"\n[nacre: the log is at half of its cap: until the task ends, what follows is in %b.*]\n"


class TaskLog:
    """The log in an open task directory."""

    def __init__(self, folder: int, cap: int, seen: int = 0) -> None:
        """Open the log. `seen`: bytes printed before; those that are kept are in the files already. OSError: it cannot
        be opened."""
        self._task_dir = folder
        self._cap = cap
        self._head_max = head_bytes(cap)
        self._first = os.open(LOG, _OLD, dir_fd=folder)
        self._head = min(os.fstat(self._first).st_size, self._head_max)
        self._segments: dict[int, int] = {}
        """Length of each segment, by its offset in the stream."""
        self._open: tuple[int, int] | None = None
        """The segment being written: its offset and file descriptor."""
        self.total_bytes = seen
        self.dropped_bytes = 0
        """Bytes of the stream that are not kept; known after `finish`."""
        self.problem = ""
        """The last write error as the system's message; empty if there was none."""
        self._retry_at = 0.0
        self._unwritten: set[int] = set()
        """Offsets in the stream at which gaps begin that are due to a write error."""
        self._unwritten_to = -1
        """End of the last of these gaps."""
        for name in os.listdir(folder) if seen > self._head else []:
            start = segment_offset(name)
            if start:
                self._segments[start] = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size

    def _stored_bytes(self) -> int:
        return self._head + sum(self._segments.values())

    def write(self, data: bytes | memoryview) -> None:
        """Append output. An error leaves a gap and is not raised."""
        rest = memoryview(data)
        while rest:
            if self.problem and time.monotonic() < self._retry_at:
                if self.total_bytes != self._unwritten_to:
                    self._unwritten.add(self.total_bytes)
                self.skip(len(rest))
                self._unwritten_to = self.total_bytes
                return
            try:
                count = self._write_some(rest)
            except OSError as error:
                self._fail(error)
                continue
            self.total_bytes += count
            rest = rest[count:]

    def skip(self, count: int) -> None:
        """Count bytes that are not kept."""
        if count:
            self.total_bytes += count
            self._close_segment()

    def _fail(self, error: OSError) -> None:
        self.problem = error.strerror or str(error)
        self._retry_at = time.monotonic() + _FULL_DISK_RETRY_S

    def _write_some(self, data: memoryview) -> int:
        if self.total_bytes == self._head < self._head_max:
            data = data[: self._head_max - self._head]
            require_free_space(self._first, len(data))
            count = os.pwrite(self._first, data, self._head)
            self._head += count
            return count
        start, fd = self._segment()
        length = self._segments[start]
        data = data[: segment_bytes(self._cap) - length]
        require_free_space(fd, len(data))
        count = os.pwrite(fd, data, length)
        self._segments[start] += count
        return count

    def _segment(self) -> tuple[int, int]:
        """Return the segment to write to, a new one if the current one is full."""
        if self._open is not None and self._segments[self._open[0]] < segment_bytes(self._cap):
            return self._open
        self._close_segment()
        if not self._segments and self._head == self._head_max:
            os.pwrite(self._first, _NOTE % LOG.encode(), self._head)
        self._make_room()
        self._open = self.total_bytes, os.open(segment_name(self.total_bytes), _NEW, 0o600, dir_fd=self._task_dir)
        self._segments[self.total_bytes] = 0
        return self._open

    def _close_segment(self) -> None:
        if self._open is not None:
            start, fd = self._open
            self._open = None
            os.close(fd)
            if not self._segments[start]:
                self._drop(start)

    def _make_room(self) -> None:
        """Drop old segments so that another one fits; once any is dropped, also free the space that `finish` needs."""
        each = segment_bytes(self._cap)
        if self._stored_bytes() + each <= max(self._cap, self._head_max + each):
            return
        while self._segments and self._stored_bytes() + 2 * each > self._cap:
            self._drop(min(self._segments))

    def _drop(self, start: int) -> None:
        del self._segments[start]
        try:
            os.unlink(segment_name(start), dir_fd=self._task_dir)
        except OSError:
            pass  # removed by another process

    # at the end

    def finish(self, last_line: str) -> list[tuple[int, int, int]]:
        """Append the segments and `last_line` to `output.log` and close it. Returns the pieces of the stream in that
        file: offset in the stream, length, offset in the file."""
        self._close_segment()
        pieces = [(0, self._head, 0)]
        at, stream = self._head, self._head
        try:
            os.ftruncate(self._first, at)  # it may end with a note of nacre's
            for start in sorted(self._segments):
                at = self._mark_gap(at, stream, start)
                length = self._join(start, at)
                pieces.append((start, length, at))
                at += length
                stream = start + length
            at = self._mark_gap(at, stream, self.total_bytes)
            self._write_at(self._with_line_start(last_line, at), at)
        except OSError as error:
            self.problem = self.problem or error.strerror or str(error)
        os.close(self._first)
        self.dropped_bytes = self.total_bytes - sum(length for _, length, _ in pieces) - sum(self._segments.values())
        return [piece for piece in pieces if piece[1]]

    def _mark_gap(self, at: int, start: int, end: int) -> int:
        if end <= start:
            return at
        why = f" ({self.problem})" if any(start <= place < end for place in self._unwritten) else ""
        return self._write_at(self._with_line_start(f"[nacre: {end - start:,} bytes left out{why}]", at), at)

    def _with_line_start(self, line: str, at: int) -> bytes:
        before = os.pread(self._first, 1, at - 1) if at else b"\n"
        return (b"" if before == b"\n" else b"\n") + line.encode("utf-8", "replace") + b"\n"

    def _join(self, start: int, at: int) -> int:
        length = self._segments[start]
        fd = os.open(segment_name(start), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._task_dir)
        try:
            done = 0
            while done < length and (block := os.pread(fd, min(_COPY_BYTES, length - done), done)):
                self._write_at(block, at + done)
                done += len(block)
        finally:
            os.close(fd)
        self._drop(start)
        return done

    def _write_at(self, data: bytes, at: int) -> int:
        while data:
            count = os.pwrite(self._first, data, at)
            data, at = data[count:], at + count
        return at

    def close(self) -> None:
        """Close the files and keep them as they are."""
        self._close_segment()
        os.close(self._first)
