"""A captured stream as characters: where it begins, where it ends, how many there were. Masked before it is cut."""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.redact.mask import mask
from nacre.result import Captured, Redacts


@frozen
class StreamText:
    head: str
    tail: str = ""
    """Empty when all of it is in `head`."""
    dropped: int = 0
    """Characters between them."""

    @property
    def length(self) -> int:
        return len(self.head) + self.dropped + len(self.tail)

    def first(self, count: int) -> str:
        """So many of its first characters, or as many of them as are left."""
        return self.head[:count]

    def last(self, count: int) -> str:
        """So many of its last characters, or as many of them as are left."""
        if count <= 0:
            return ""
        return (self.tail if self.dropped else self.head)[-count:]


def read_stream_text(captured: Captured, redactor: Redacts | None) -> StreamText:
    """As UTF-8, invalid bytes replaced."""

    values = () if redactor is None else redactor.values()

    def text(data: bytes, *, starts_cut: bool = False, ends_cut: bool = False) -> str:
        return mask(data.decode("utf-8", "replace"), values, starts_cut=starts_cut, ends_cut=ends_cut)

    if not captured.dropped_bytes:
        return StreamText(text(captured.head + captured.tail))
    return StreamText(text(captured.head, ends_cut=True), text(captured.tail, starts_cut=True), captured.dropped_chars)
