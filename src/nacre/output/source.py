"""A captured stream → its text, masked, and which line of the raw output each part of it came from. Pure.

The raw output is what the spill holds: its lines are numbered for `sed`, also where a progress bar has written over
many of them, and where a part was never captured.
"""

from __future__ import annotations

import re

from nacre.ansi.decode import decode, decode_wide, is_plain, wide_encoding
from nacre.ansi.render import Rendered, render
from nacre.base.frozen import frozen
from nacre.redact.mask import mask
from nacre.result import Captured


@frozen(kw_only=True)
class Source:
    """A text and where it comes from."""

    text: str
    raw: bytes = b""
    """What wrote the text before the gap."""
    raw_tail: bytes = b""
    """What wrote the text after it."""
    gap: int | None = None
    """Where in the text something was not captured."""
    head: tuple[int, ...] | None = None
    tail: tuple[int, ...] | None = None
    """For each line before and after the gap, the raw line that wrote it, from 0; None when they are the same."""
    before_tail: int | None = None
    """Newlines of the raw output before the tail, if somebody has counted them."""
    seen: int = 0
    """Bytes of it all."""
    unit: int = 1
    """Bytes of the smallest character."""
    erased: int = 0
    """Lines that were there before the screen was cleared."""

    def number(self, place: int) -> int | None:
        """The line of the raw output, from 1, that wrote what is at this place."""
        if self.gap is None or place < self.gap:
            return 1 + _line_number(self.head, self.text.count("\n", 0, place))
        if self.before_tail is None:
            return None
        return 1 + self.before_tail + _line_number(self.tail, self.text.count("\n", self.gap, place))

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """The lines of the raw output that wrote this part, first and last."""
        if self.gap is None:
            return _span(self.head, self.text, 0, start, end)
        if self.before_tail is None:
            return None
        first, _ = _span(self.head, self.text, 0, start, self.gap)
        _, last = _span(self.tail, self.text, self.gap, self.gap, max(self.gap, end))
        return first, last + self.before_tail

    def extent(self, start: int, end: int) -> tuple[int, int]:
        """Where in the raw output, from 0, this part begins and ends: exactly if all before and after it is shown as it
        was printed, else with the whole of the lines that wrote it."""
        last = self.raw if self.gap is None else self.raw_tail
        begin, stop = self._begin(start), self.seen - len(last) + self._stop(end, last)
        return begin - begin % self.unit, min(max(begin, stop + -stop % self.unit), self.seen)

    def _begin(self, start: int) -> int:
        if start == self.gap:
            return len(self.raw)
        if self.raw.startswith(before := self.text[:start].encode()):
            return len(before)
        first, _ = _span(self.head, self.text, 0, start, len(self.text) if self.gap is None else self.gap)
        begin = _line(self.raw, first - 1)
        inside = self.text[self.text.rfind("\n", 0, start) + 1 : start].encode()
        return begin + len(inside) if self.raw.startswith(inside, begin) else begin

    def _stop(self, end: int, last: bytes) -> int:
        origin = self.gap or 0
        if end == self.gap:
            return 0
        if last.endswith(after := self.text[end:].encode()):
            return len(last) - len(after)
        numbers = self.head if self.gap is None else self.tail
        _, line = _span(numbers, self.text, origin, origin, end)
        stop = _line(last, line)
        if self.text[end - 1] != "\n":
            rest = self.text[end : self.text.find("\n", end) + 1 or len(self.text)].encode()
            stop -= len(rest) if last.endswith(rest, 0, stop) else 0
        return stop


def _line(data: bytes, number: int) -> int:
    """Where a line begins, from 0; the end, if there are not so many."""
    parts = data.split(b"\n", number)
    return len(data) - len(parts[-1]) if len(parts) > number else len(data)


def _span(numbers: tuple[int, ...] | None, text: str, origin: int, start: int, end: int) -> tuple[int, int]:
    first = text.count("\n", origin, start)
    last = first + text.count("\n", start, end)
    if end > start and text[end - 1] == "\n":
        last -= 1
    if numbers is None:
        return first + 1, last + 1
    part = numbers[first : last + 1] or (_line_number(numbers, first),)
    return min(part) + 1, max(part) + 1


def _line_number(numbers: tuple[int, ...] | None, index: int) -> int:
    return index if numbers is None else numbers[min(index, len(numbers) - 1)]


def is_wide(data: bytes) -> bool:
    """It has the mark of UTF-16 or UTF-32, and is what it says."""
    if not (encoding := wide_encoding(data)):
        return False
    sample = decode_wide(data[:4096], encoding)
    odd = sum(not (char.isprintable() or char in "\n\r\t\x1b") for char in sample)
    return odd <= 0.1 * len(sample)


def render_text(data: bytes) -> Rendered:
    """UTF-8, as on a screen."""
    return Rendered(decode(data)) if is_plain(data) else render(decode(data))


def build_source(captured: Captured, secrets: tuple[str, ...], dropped_lines: int | None) -> Source:
    """Decoded, as on a screen, masked. `dropped_lines` are the newlines that were not captured."""
    encoding = wide_encoding(captured.head) if is_wide(captured.head) else ""
    unit = 1 if not encoding else 4 if encoding.startswith("utf-32") else 2

    def text(data: bytes, offset: int = 0) -> Rendered:
        return render(decode_wide(data, encoding, offset)) if encoding else render_text(data)

    if not captured.dropped_bytes:
        data = captured.head + captured.tail
        whole = text(data)
        masked = mask(whole.text, secrets)
        return Source(text=masked, raw=data, head=whole.numbers, seen=len(data), unit=unit, erased=whole.erased)
    begins = captured.tail if encoding else _without_rest(captured.head, captured.tail)
    head, tail = text(captured.head), text(begins, captured.total_bytes - len(begins))
    first = mask(head.text, secrets, ends_cut=True)
    return Source(
        text=first + mask(tail.text, secrets, starts_cut=True),
        raw=captured.head,
        raw_tail=captured.tail,
        gap=len(first),
        head=head.numbers,
        tail=tail.numbers,
        before_tail=None if dropped_lines is None else captured.head.count(b"\n") + dropped_lines,
        seen=captured.total_bytes,
        unit=unit,
        erased=head.erased + tail.erased,
    )


_REST_OF_COLOUR = rb"\[?[\d;:]{1,24}m"
_REST_OF_STRING = rb"[^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)"


def _without_rest(head: bytes, tail: bytes) -> bytes:
    """Without the rest of a sequence that began before it, as far as one can tell: such a thing is in what is known."""
    if b"\x1b[" in tail and (found := re.match(_REST_OF_COLOUR, tail)):
        return tail[found.end() :]
    if (b"\x1b]" in tail or b"\x1b]" in head) and (found := re.match(_REST_OF_STRING, tail)):
        return tail[found.end() :]
    return tail
