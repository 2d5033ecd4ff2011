"""Text of a captured stream: its beginning, its end and its length. Masked before it is cut."""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.redact.mask import mask
from nacre.result import Captured, Redacts


@frozen
class StreamText:
    """Decoded text of one stream, as far as it was captured."""

    head: str
    tail: str = ""
    """Empty if `head` is the complete text."""
    dropped: int = 0
    """Characters between `head` and `tail`."""

    @property
    def length(self) -> int:
        """Length of the complete stream in characters."""
        return len(self.head) + self.dropped + len(self.tail)

    def first(self, count: int) -> str:
        """Return the first `count` characters, or fewer if not all of them were captured."""
        return self.head[:count]

    def last(self, count: int) -> str:
        """Return the last `count` characters, or fewer if not all of them were captured."""
        if count <= 0:
            return ""
        return (self.tail if self.dropped else self.head)[-count:]


def read_stream_text(captured: Captured, redactor: Redacts | None) -> StreamText:
    """Decode a stream as UTF-8, with invalid bytes replaced and secrets masked."""

    values = () if redactor is None else redactor.values()

    def text(data: bytes, *, starts_cut: bool = False, ends_cut: bool = False) -> str:
        return mask(data.decode("utf-8", "replace"), values, starts_cut=starts_cut, ends_cut=ends_cut)

    if not captured.dropped_bytes:
        return StreamText(text(captured.head + captured.tail))
    return StreamText(text(captured.head, ends_cut=True), text(captured.tail, starts_cut=True), captured.dropped_chars)
