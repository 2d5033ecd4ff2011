"""Reading what a task has printed, from any place on. Takes an open directory, gives an `Output`.

Places count every byte that the command printed, kept or not. What nacre writes into the log itself is never output,
and neither a log that is being joined nor a file that goes while it is read is taken for a gap: what was read from a
task that runs counts only if it still ran afterwards.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
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
"""Seconds for a keeper to answer; one that takes longer has been stopped, or its machine has."""
NO_REPLY = -1
"""What a keeper that does not answer has said."""
_MAX_READ_ATTEMPTS = 10
"""How often a log that changes at every look is looked at."""


@frozen(kw_only=True)
class Output:
    """Some of what a task has printed, cut between characters."""

    task: Task
    data: bytes
    start: int
    """Which byte of all that it printed `data` begins with."""
    cursor: int
    """Pass it as `since` to read on."""
    dropped: int
    """Bytes between `since` and `start` that are gone."""
    skipped: int
    """Bytes between `since` and `start` that were passed over, as `lines` asks."""
    more: bool
    """More can be read right now."""

    @property
    def text(self) -> str:
        """As UTF-8, invalid bytes replaced."""
        return self.data.decode("utf-8", "replace")


Question: TypeAlias = tuple[socket.socket, int]
"""`control.ask` its keeper this; the answer is sent back, or its TimeoutError thrown."""


def read_output(folder: TaskDirectory, since: int, lines: int | None, limit: int) -> Output:
    """`since` below 0 counts from the end. InvalidRequest: it is beyond the end."""
    looking = _query_size(folder, since, lines, limit)
    try:
        line, beyond = next(looking)
        while True:
            try:
                answer = query(line, beyond, _REPLY_TIMEOUT_S)
            except TimeoutError as error:
                line, beyond = looking.throw(error)
            else:
                line, beyond = looking.send(answer)
    except StopIteration as stop:
        return cast("Output", stop.value)
    finally:
        looking.close()


async def read_output_async(folder: TaskDirectory, since: int, lines: int | None, limit: int) -> Output:
    """The same, while the event loop goes on."""
    import asyncio  # only whoever waits has loaded it

    looking = _query_size(folder, since, lines, limit)
    try:
        line, beyond = next(looking)
        while True:
            try:
                async with asyncio.timeout(_REPLY_TIMEOUT_S):
                    answer = await ControlConnection(line).watch(beyond)
            except TimeoutError as error:
                line, beyond = looking.throw(error)
            else:
                line, beyond = looking.send(answer)
    except StopIteration as stop:
        return cast("Output", stop.value)
    finally:
        looking.close()


def _query_size(
    folder: TaskDirectory, since: int, lines: int | None, limit: int
) -> Generator[Question, int | None, Output]:
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
                    continue  # printed since, or never kept: the next look tells
            if cut.changed and left > 1:
                continue
            if since > max(seen, end):
                if over is not None or answered:
                    raise bad_cursor(since, max(seen, end))
                return _nothing_new(build_task(folder, stored, layout, seen), since)  # who could say?
            return cut.output(build_task(folder, stored, layout, seen), max(seen, end))
        finally:
            stored.close()
    raise InvalidTaskDirectory("its log changes too fast to be read")


def _still_runs(line: socket.socket, end: int) -> Generator[Question, int | None, int | None]:
    """How much it has printed. None: it has come to its end, and the log may hold what is no output."""
    try:
        now = yield line, -1
        if now is not None and now < end:  # the last line is nacre's own
            now = yield line, end - 1
    except TimeoutError:
        return NO_REPLY
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
        """A file was not what it had been a moment before."""
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
        """Nothing could be said about what comes next."""
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
        """From the first byte on that is still there, up to where the next is missing."""
        self._start = self._first_from(self._since)
        stop = self._start + (max(limit, _MAX_CHAR_BYTES) if limit else 0)
        self._data = self._read(self._start, min(stop, self._contiguous_end(self._start)))

    def _take_last(self, lines: int, limit: int) -> None:
        """The last lines, as far as nothing in them is missing."""
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
                count += 1  # one that is not finished
            blocks.append(block)
            count += block.count(b"\n")
            place = first
        data = b"".join(reversed(blocks))
        cut = _last_lines(data, lines)
        if not cut and place > self._since:
            cut = continuation_prefix(data)
        self._start, self._data = place + cut, data[cut:]

    def _hold_back(self) -> None:
        """What begins a character waits for the rest of it, unless that is gone."""
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
        """The first byte from here on that is there; the end if none is."""
        for piece in self._layout.pieces:
            if piece.stop > place:
                return max(place, piece.start)
        return max(place, self._end)

    def _contiguous_end(self, place: int) -> int:
        """Where what is there from here on ends."""
        for piece in self._layout.pieces:
            if piece.start <= place < piece.stop:
                place = piece.stop
        return place

    def _contiguous_start(self, place: int) -> int:
        """Where what is there up to here begins."""
        for piece in reversed(self._layout.pieces):
            if piece.start < place <= piece.stop:
                place = piece.start
        return place

    def _read(self, start: int, stop: int) -> bytes:
        """This part of the stream, or less if some of it has gone."""
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
    """Where they begin."""
    place = len(data) - data.endswith(b"\n")
    for _ in range(lines):
        place = data.rfind(b"\n", 0, place)
        if place < 0:
            return 0
    return place + 1
