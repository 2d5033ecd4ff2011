"""Reading a task's output from any offset: an open directory goes in, an `Output` comes out.

Offsets count every byte that the command printed, kept or not. Lines that nacre writes into the log are never output. A
log that is being joined, or a file that vanishes during the read, does not appear as a gap: data read from a running
task counts only if the task was still running afterwards.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from contextlib import closing
from typing import TypeAlias, cast

from nacre.base.frozen import frozen
from nacre.base.utf8 import continuation_prefix, incomplete_suffix
from nacre.errors import InvalidRequest
from nacre.tasks.store.control_client import ControlConnection, query
from nacre.tasks.store.directory import InvalidTaskDirectory, TaskDirectory
from nacre.tasks.store.log_layout import Layout, build_layout
from nacre.tasks.store.status import StoredTask, build_task
from nacre.tasks.store.task import Task

MAX_READ_BYTES = 1024 * 1024
_BLOCK_BYTES = 64 * 1024
_MAX_CHAR_BYTES = 4
_REPLY_TIMEOUT_S = 1.0
"""Seconds to wait for a keeper's answer; if it takes longer, it or its machine was stopped."""
NO_REPLY = -1
"""Stands for the answer of a keeper that timed out."""
_MAX_READ_ATTEMPTS = 10
"""Bound on reads of a log that changes during each of them."""


@frozen(kw_only=True)
class Output:
    """A part of a task's output, cut between UTF-8 characters."""

    task: Task
    data: bytes
    start: int
    """Offset of the first byte of `data` in everything that the task printed."""
    cursor: int
    """Offset after `data`; pass it as `since` to read on."""
    dropped: int
    """Bytes between `since` and `start` that were not kept."""
    skipped: int
    """Bytes between `since` and `start` that are kept but not in the last `lines`."""
    more: bool
    """More output can be read now."""

    @property
    def text(self) -> str:
        """The data as UTF-8 text, invalid bytes replaced."""
        return self.data.decode("utf-8", "replace")


Question: TypeAlias = tuple[socket.socket, int]
"""Request for the number of bytes printed: the connection to ask on, and the number that they must exceed."""
Reading: TypeAlias = Generator[Question, int | None, Output]
"""A read that asks the keeper through its caller, who may block or wait. It is sent the answers."""


def read_output(folder: TaskDirectory, since: int, lines: int | None, limit: int) -> Output:
    """Read from offset `since` on, or only the last `lines`, at most `limit` bytes. Blocks.

    A negative `since` counts from the end. InvalidRequest: `since` is beyond the end.
    """
    with closing(_query_size(folder, since, lines, limit)) as reading:
        step = _resume(reading, None)
        while not isinstance(step, Output):
            step = _resume(reading, _query(*step))
        return step


async def read_output_async(folder: TaskDirectory, since: int, lines: int | None, limit: int) -> Output:
    """Do the same as `read_output` without blocking the event loop."""
    with closing(_query_size(folder, since, lines, limit)) as reading:
        step = _resume(reading, None)
        while not isinstance(step, Output):
            step = _resume(reading, await _query_async(*step))
        return step


def _query(line: socket.socket, beyond: int) -> int | None:
    try:
        return query(line, beyond, _REPLY_TIMEOUT_S)
    except TimeoutError:
        return NO_REPLY


async def _query_async(line: socket.socket, beyond: int) -> int | None:
    import asyncio  # imported only for callers that wait

    try:
        async with asyncio.timeout(_REPLY_TIMEOUT_S):
            return await ControlConnection(line).watch(beyond)
    except TimeoutError:
        return NO_REPLY


def _resume(reading: Reading, answer: int | None) -> Question | Output:
    """Continue the read with the answer to its last question, None at first. Return its next question, or the
    output."""
    try:
        return reading.send(answer)
    except StopIteration as stop:
        return cast("Output", stop.value)


def _query_size(folder: TaskDirectory, since: int, lines: int | None, limit: int) -> Reading:
    seen = 0
    answered = False
    for left in range(_MAX_READ_ATTEMPTS, 0, -1):
        stored = StoredTask(folder)
        try:
            over = stored.status_file
            layout = build_layout(folder, stored.task_file, over)
            end = max(layout.end, seen if over is None else over.bytes)
            cut = _Reader(folder, layout, since, end, lines, limit, final=over is not None or bool(stored.lost))
            if stored.connection is not None:
                now = yield from _still_runs(stored.connection, layout.end)
                if now is None and left > 1:
                    continue
                answered = now != NO_REPLY
                seen = max(end, now or 0)
                if seen > end and cut.stuck and left > 1:
                    continue  # printed since, or never kept: the next attempt tells
            if cut.changed and left > 1:
                continue
            if since > max(seen, end):
                if over is not None or answered:
                    raise bad_cursor(since, max(seen, end))
                # without a status or an answer: `since` may still be within the output
                return _nothing_new(build_task(folder, stored, layout, seen), since)
            return cut.output(build_task(folder, stored, layout, seen), max(seen, end))
        finally:
            stored.close()
    raise InvalidTaskDirectory("its log changes too fast to be read")


def _still_runs(line: socket.socket, end: int) -> Generator[Question, int | None, int | None]:
    """Return the bytes that a running task has printed. None: it has ended, and the log may hold lines that are not
    output."""
    now = yield line, -1
    if now is not None and NO_REPLY < now < end:  # the last line may be nacre's own, not yet counted
        now = yield line, end - 1
    return now


def _nothing_new(task: Task, since: int) -> Output:
    return Output(task=task, data=b"", start=since, cursor=since, dropped=0, skipped=0, more=False)


def bad_cursor(since: int, end: int) -> InvalidRequest:
    return InvalidRequest(
        "bad_cursor",
        f"`since` is {since}, and only {end} bytes have been printed.",
        field="since",
        hint="Use the `cursor` of the output read before, 0 for the beginning, or -N for the last N bytes.",
    )


class _Reader:
    """One attempt to read."""

    def __init__(
        self, folder: TaskDirectory, layout: Layout, since: int, end: int, lines: int | None, limit: int, *, final: bool
    ) -> None:
        self._directory = folder
        self._layout = layout
        self._end = end
        self._final = final
        self.changed = False
        """A file was no longer as the layout says."""
        if since < 0:
            since = max(0, end + since)
            since += continuation_prefix(self._read(since, min(end, since + _MAX_CHAR_BYTES - 1))) if since else 0
        self._since = since
        if lines is None:
            self._take(limit)
        else:
            self._take_last(lines, limit)
        if not self._final or self.cursor < end:
            self._hold_back()

    @property
    def stuck(self) -> bool:
        """Whether nothing was read, and nothing was skipped."""
        return self.cursor == self._since

    @property
    def cursor(self) -> int:
        return self._start + len(self._data)

    def output(self, task: Task, seen: int) -> Output:
        there = self._layout.count_kept_bytes(self._since, self._start)
        return Output(
            task=task,
            data=self._data,
            start=self._start,
            cursor=self.cursor,
            dropped=self._start - self._since - there,
            skipped=there,
            more=self.cursor + self._held < seen,
        )

    def _take(self, limit: int) -> None:
        """Take data from the first kept byte on, up to the next gap."""
        self._start = self._first_from(self._since)
        stop = self._start + (max(limit, _MAX_CHAR_BYTES) if limit else 0)
        self._data = self._read(self._start, min(stop, self._contiguous_end(self._start)))

    def _take_last(self, lines: int, limit: int) -> None:
        """Take the last lines, back to the last gap at most."""
        stop = self._layout.end
        if lines == 0 or stop <= self._since:
            self._start, self._data = max(self._since, self._end), b""
            return
        bottom = max(self._since, stop - max(limit, _MAX_CHAR_BYTES), self._contiguous_start(stop))
        place, count, blocks = stop, -1, []
        while place > bottom and count < lines:
            first = max(bottom, place - _BLOCK_BYTES)
            block = self._read(first, place)
            if len(block) < place - first:
                break
            if place == stop and not block.endswith(b"\n"):
                count += 1  # the unfinished last line
            blocks.append(block)
            count += block.count(b"\n")
            place = first
        data = b"".join(reversed(blocks))
        cut = _last_lines(data, lines)
        if not cut and place > self._since:
            cut = continuation_prefix(data)
        self._start, self._data = place + cut, data[cut:]

    def _hold_back(self) -> None:
        """Leave an incomplete UTF-8 character at the end for the next read, unless its rest is not kept."""
        self._held = 0
        after = self.cursor
        if (after == self._end and not self._final) or self._contiguous_end(after) > after:
            self._held = incomplete_suffix(self._data)
            self._data = self._data[: len(self._data) - self._held]
            if after < self._end:
                self._held = 0

    _held = 0
    _start = 0
    _data = b""

    def _first_from(self, place: int) -> int:
        """Return the offset of the first kept byte from `place` on; the end if there is none."""
        for piece in self._layout.pieces:
            if piece.stop > place:
                return max(place, piece.start)
        return max(place, self._end)

    def _contiguous_end(self, place: int) -> int:
        """Return the end of the contiguous data that starts at `place`."""
        for piece in self._layout.pieces:
            if piece.start <= place < piece.stop:
                place = piece.stop
        return place

    def _contiguous_start(self, place: int) -> int:
        """Return the start of the contiguous data that ends at `place`."""
        for piece in reversed(self._layout.pieces):
            if piece.start < place <= piece.stop:
                place = piece.start
        return place

    def _read(self, start: int, stop: int) -> bytes:
        """Return this part of the stream; less if a file vanished meanwhile."""
        parts = []
        for piece in self._layout.pieces:
            if piece.start <= start < min(piece.stop, stop):
                length = min(piece.stop, stop) - start
                part = self._part(piece.name, piece.file_offset + start - piece.start, length)
                parts.append(part)
                start += len(part)
                if len(part) < length:
                    self.changed = True
                    break
        return b"".join(parts)

    def _part(self, name: str, at: int, length: int) -> bytes:
        opened = self._directory.open(name)
        if opened is None:
            return b""
        fd, _ = opened
        try:
            parts = []
            while length and (part := os.pread(fd, min(length, MAX_READ_BYTES), at)):
                parts.append(part)
                at += len(part)
                length -= len(part)
            return b"".join(parts)
        except OSError:
            return b""
        finally:
            os.close(fd)


def _last_lines(data: bytes, lines: int) -> int:
    """Return the offset in `data` where the last `lines` lines begin."""
    place = len(data) - data.endswith(b"\n")
    for _ in range(lines):
        place = data.rfind(b"\n", 0, place)
        if place < 0:
            return 0
    return place + 1
