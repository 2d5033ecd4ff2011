"""Keep the beginning and the end of a byte stream, with exact counts, in bounded memory.

Chunks are stored as they come, without a copy; several buffers can share a chunk.
"""

from __future__ import annotations

from collections import deque

from nacre.base.utf8 import continuation_prefix, incomplete_suffix
from nacre.result import Captured

_BLOCK_BYTES = 16 * 1024
_CONTINUATION_BYTE = bytes(range(0x80, 0xC0))
"""UTF-8 continuation bytes."""


class HeadTailBuffer:
    """The first and last `limit / 2` bytes of everything added."""

    __slots__ = ("_dropped_chars", "_head", "_head_room", "_tail", "_tail_held", "_tail_max", "total_bytes")

    def __init__(self, limit: int) -> None:
        self._head: list[bytes | bytearray] = []
        self._head_room = limit // 2
        self._tail: deque[bytes | bytearray] = deque()
        self._tail_max = limit - limit // 2
        self._tail_held = 0
        self._dropped_chars = 0
        """Characters whose first byte has been dropped."""
        self.total_bytes = 0

    def add(self, data: bytes) -> None:
        """Add a chunk; drop old chunks beyond the limit."""
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
        """Return everything that was added, as long as nothing has been dropped."""
        return b"".join((*self._head, *self._tail))

    def to_captured(self) -> Captured:
        """Return what is kept, cut between characters, with the counts of what was dropped."""
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
    """Count the characters that begin in `data`."""
    return len(data) if data.isascii() else len(data.translate(None, _CONTINUATION_BYTE))


def _append(blocks: list[bytes | bytearray] | deque[bytes | bytearray], data: bytes) -> None:
    """Store large chunks as they are and merge small ones: a million one-byte chunks would take fifty times their
    size."""
    if len(data) >= _BLOCK_BYTES:
        blocks.append(data)
    elif blocks and isinstance(blocks[-1], bytearray) and len(blocks[-1]) < _BLOCK_BYTES:
        blocks[-1] += data
    else:
        blocks.append(bytearray(data))
