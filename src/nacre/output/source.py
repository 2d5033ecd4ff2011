"""A captured stream → its text, masked, and which line of the raw output each part of it came from. Pure.

The raw output is what the spill holds: its lines are numbered for `sed`, also where a progress bar has written over
many of them, and where a part was never captured.
"""

from __future__ import annotations

from nacre.frozen import frozen
from nacre.output.decode import decode, decode_wide, is_plain, wide
from nacre.output.secrets import mask
from nacre.output.terminal import Seen, seen
from nacre.result import Captured


@frozen(kw_only=True)
class Source:
    """A text and where it comes from."""

    text: str
    gap: int | None = None
    """Where in the text something was not captured."""
    head: tuple[int, ...] | None = None
    tail: tuple[int, ...] | None = None
    """For each line before and after the gap, the raw line that wrote it, from 0; None when they are the same."""
    before_tail: int | None = None
    """Newlines of the raw output before the tail, if somebody has counted them."""
    captured: int = 0
    """Bytes before the gap."""
    dropped: int = 0
    """Bytes in the gap."""

    def number(self, place: int) -> int | None:
        """The line of the raw output, from 1, that wrote what is at this place."""
        if self.gap is None or place < self.gap:
            return 1 + _at(self.head, self.text.count("\n", 0, place))
        if self.before_tail is None:
            return None
        return 1 + self.before_tail + _at(self.tail, self.text.count("\n", self.gap, place))

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """The lines of the raw output that wrote this part, first and last."""
        if self.gap is None:
            return _span(self.head, self.text, 0, start, end)
        if self.before_tail is None:
            return None
        first, _ = _span(self.head, self.text, 0, start, self.gap)
        _, last = _span(self.tail, self.text, self.gap, self.gap, max(self.gap, end))
        return first, last + self.before_tail


def _span(numbers: tuple[int, ...] | None, text: str, origin: int, start: int, end: int) -> tuple[int, int]:
    first = text.count("\n", origin, start)
    last = first + text.count("\n", start, end)
    if end > start and text[end - 1] == "\n":
        last -= 1
    if numbers is None:
        return first + 1, last + 1
    part = numbers[first : last + 1] or (_at(numbers, first),)
    return min(part) + 1, max(part) + 1


def _at(numbers: tuple[int, ...] | None, index: int) -> int:
    return index if numbers is None else numbers[min(index, len(numbers) - 1)]


def is_wide(data: bytes) -> bool:
    """It has the mark of UTF-16 or UTF-32, and is what it says."""
    if not (encoding := wide(data)):
        return False
    sample = decode_wide(data[:4096], encoding)
    odd = sum(not (char.isprintable() or char in "\n\r\t\x1b") for char in sample)
    return odd <= 0.1 * len(sample)


def text_of(data: bytes) -> Seen:
    """UTF-8, as on a screen."""
    return Seen(decode(data)) if is_plain(data) else seen(decode(data))


def source_of(captured: Captured, secrets: tuple[str, ...], dropped_lines: int | None) -> Source:
    """Decoded, as on a screen, masked. `dropped_lines` are the newlines that were not captured."""
    encoding = wide(captured.head) if is_wide(captured.head) else ""

    def text(data: bytes, offset: int = 0) -> Seen:
        return seen(decode_wide(data, encoding, offset)) if encoding else text_of(data)

    if not captured.dropped:
        whole = text(captured.head + captured.tail)
        masked = mask(whole.text, secrets)
        return Source(text=masked, head=whole.numbers)
    head, tail = text(captured.head), text(captured.tail, captured.seen - len(captured.tail))
    first = mask(head.text, secrets, ends_cut=True)
    return Source(
        text=first + mask(tail.text, secrets, starts_cut=True),
        gap=len(first),
        head=head.numbers,
        tail=tail.numbers,
        before_tail=None if dropped_lines is None else captured.head.count(b"\n") + dropped_lines,
        captured=len(captured.head),
        dropped=captured.dropped,
    )
