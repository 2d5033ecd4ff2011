"""Record: a beginning and an end of everything that was added, and exact counts. Memory is flat.

Chunks are kept as they come, not copied; several records can hold the same one.
"""

from __future__ import annotations

from collections import deque

from nacre.base.utf8 import continuation_prefix, incomplete_suffix
from nacre.result import Captured

_BLOCK_BYTES = 16 * 1024
_CONTINUATION_BYTE = bytes(range(0x80, 0xC0))
"""Bytes that go on with a character."""


class HeadTailBuffer:
    __slots__ = ("_dropped_chars", "_head", "_head_room", "_tail", "_tail_held", "_tail_max", "total_bytes")

    def __init__(self, limit: int) -> None:
        self._head: list[bytes | bytearray] = []
        self._head_room = limit // 2
        self._tail: deque[bytes | bytearray] = deque()
        self._tail_max = limit - limit // 2
        self._tail_held = 0
        self._dropped_chars = 0
        """Characters that began in what is no longer held."""
        self.total_bytes = 0

    def add(self, data: bytes) -> None:
        self.total_bytes += len(data)
        if self._head_room:
            _append(self._head, data[: self._head_room])
            data, self._head_room = data[self._head_room :], max(0, self._head_room - len(data))
        if data:
            _append(self._tail, data)
            self._tail_held += len(data)
            while self._tail and self._tail_held - len(self._tail[0]) >= self._tail_max:
                gone = self._tail.popleft()
                self._tail_held -= len(gone)
                self._dropped_chars += _characters(gone)

    def all_bytes(self) -> bytes:
        """All of it, while it is all still held."""
        return b"".join((*self._head, *self._tail))

    def to_captured(self) -> Captured:
        head = b"".join(self._head)
        tail = b"".join(self._tail)
        if len(head) + min(len(tail), self._tail_max) >= self.total_bytes:
            return Captured(head=head, tail=tail, total_bytes=self.total_bytes)
        end = len(head) - incomplete_suffix(head)
        start = max(0, len(tail) - self._tail_max)
        start += continuation_prefix(tail[start:])
        gone = _characters(head[end:]) + self._dropped_chars + _characters(tail[:start])
        head, tail = head[:end], tail[start:]
        dropped = self.total_bytes - len(head) - len(tail)
        return Captured(head=head, tail=tail, total_bytes=self.total_bytes, dropped_bytes=dropped, dropped_chars=gone)


def _characters(data: bytes | bytearray) -> int:
    """That begin in it."""
    return len(data) if data.isascii() else len(data.translate(None, _CONTINUATION_BYTE))


def _append(blocks: list[bytes | bytearray] | deque[bytes | bytearray], data: bytes) -> None:
    """Large chunks as they are; small ones together, or a million of one byte would cost fifty."""
    if len(data) >= _BLOCK_BYTES:
        blocks.append(data)
    elif blocks and isinstance(blocks[-1], bytearray) and len(blocks[-1]) < _BLOCK_BYTES:
        blocks[-1] += data
    else:
        blocks.append(bytearray(data))
