"""Turn a captured stream into masked text, and map each part of it to lines of the raw output. Pure.

The raw output is the content of the spill: its lines are numbered for `sed`, even if a progress bar overwrote many of
them or a part was never captured.
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
    """A text and its mapping to the raw output."""

    text: str
    raw: bytes = b""
    """Raw bytes of the text before the gap."""
    raw_tail: bytes = b""
    """Raw bytes of the text after the gap."""
    gap: int | None = None
    """Offset in the text at which data was not captured."""
    head: tuple[int, ...] | None = None
    tail: tuple[int, ...] | None = None
    """For each line before (`head`) and after (`tail`) the gap, the raw line that wrote it, from 0; None if they are
    equal."""
    before_tail: int | None = None
    """Newlines of the raw output before the tail; None if not counted."""
    seen: int = 0
    """Total bytes of the raw output."""
    unit: int = 1
    """Bytes of the smallest character."""
    erased: int = 0
    """Number of lines that were erased when the screen was cleared."""

    def number(self, place: int) -> int | None:
        """Return the line of the raw output, from 1, that wrote the text at this offset; None if unknown."""
        if self.gap is None or place < self.gap:
            return 1 + _line_number(self.head, self.text.count("\n", 0, place))
        if self.before_tail is None:
            return None
        return 1 + self.before_tail + _line_number(self.tail, self.text.count("\n", self.gap, place))

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the first and the last line of the raw output that wrote this part; None if unknown."""
        if self.gap is None:
            return _span(self.head, self.text, 0, start, end)
        if self.before_tail is None:
            return None
        first, _ = _span(self.head, self.text, 0, start, self.gap)
        _, last = _span(self.tail, self.text, self.gap, self.gap, max(self.gap, end))
        return first, last + self.before_tail

    def extent(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and end offsets, from 0, of this part in the raw output.

        Exact if everything before and after it is shown as it was printed; otherwise it covers whole raw lines.
        """
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
    """Return the offset of a line, numbered from 0; the length if there are fewer lines."""
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
    """Return true if the data begins with the byte order mark of UTF-16 or UTF-32 and decodes to mostly printable
    text."""
    if not (encoding := wide_encoding(data)):
        return False
    sample = decode_wide(data[:4096], encoding)
    odd = sum(not (char.isprintable() or char in "\n\r\t\x1b") for char in sample)
    return odd <= 0.1 * len(sample)


def render_text(data: bytes) -> Rendered:
    """Decode UTF-8 and render it as a terminal would."""
    return Rendered(decode(data)) if is_plain(data) else render(decode(data))


def build_source(captured: Captured, secrets: tuple[str, ...], dropped_lines: int | None) -> Source:
    """Decode, render and mask the captured data. `dropped_lines` is the number of newlines that were not captured."""
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
    """Remove the rest of an escape sequence that began before the tail, if one of that kind occurs in the captured
    data."""
    if b"\x1b[" in tail and (found := re.match(_REST_OF_COLOUR, tail)):
        return tail[found.end() :]
    if (b"\x1b]" in tail or b"\x1b]" in head) and (found := re.match(_REST_OF_STRING, tail)):
        return tail[found.end() :]
    return tail
