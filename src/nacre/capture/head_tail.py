"""Record: a beginning and an end of everything that was added, and exact counts. Memory is flat.

Chunks are kept as they come, not copied; several records can hold the same one.
"""

from __future__ import annotations

from collections import deque

from nacre.base.utf8 import broken, incomplete
from nacre.result import Captured

_BLOCK = 16 * 1024
_WITHIN = bytes(range(0x80, 0xC0))
"""Bytes that go on with a character."""


class Record:
    __slots__ = ("_gone", "_head", "_head_room", "_tail", "_tail_held", "_tail_max", "seen")

    def __init__(self, limit: int) -> None:
        self._head: list[bytes | bytearray] = []
        self._head_room = limit // 2
        self._tail: deque[bytes | bytearray] = deque()
        self._tail_max = limit - limit // 2
        self._tail_held = 0
        self._gone = 0
        """Characters that began in what is no longer held."""
        self.seen = 0

    def add(self, data: bytes) -> None:
        self.seen += len(data)
        if self._head_room:
            _append(self._head, data[: self._head_room])
            data, self._head_room = data[self._head_room :], max(0, self._head_room - len(data))
        if data:
            _append(self._tail, data)
            self._tail_held += len(data)
            while self._tail and self._tail_held - len(self._tail[0]) >= self._tail_max:
                gone = self._tail.popleft()
                self._tail_held -= len(gone)
                self._gone += _characters(gone)

    def everything(self) -> bytes:
        """All of it, while it is all still held."""
        return b"".join((*self._head, *self._tail))

    def captured(self) -> Captured:
        head = b"".join(self._head)
        tail = b"".join(self._tail)
        if len(head) + min(len(tail), self._tail_max) >= self.seen:
            return Captured(head=head, tail=tail, seen=self.seen)
        end = len(head) - incomplete(head)
        start = max(0, len(tail) - self._tail_max)
        start += broken(tail[start:])
        gone = _characters(head[end:]) + self._gone + _characters(tail[:start])
        head, tail = head[:end], tail[start:]
        dropped = self.seen - len(head) - len(tail)
        return Captured(head=head, tail=tail, seen=self.seen, dropped=dropped, dropped_chars=gone)


def _characters(data: bytes | bytearray) -> int:
    """That begin in it."""
    return len(data) if data.isascii() else len(data.translate(None, _WITHIN))


def _append(blocks: list[bytes | bytearray] | deque[bytes | bytearray], data: bytes) -> None:
    """Large chunks as they are; small ones together, or a million of one byte would cost fifty."""
    if len(data) >= _BLOCK:
        blocks.append(data)
    elif blocks and isinstance(blocks[-1], bytearray) and len(blocks[-1]) < _BLOCK:
        blocks[-1] += data
    else:
        blocks.append(bytearray(data))
