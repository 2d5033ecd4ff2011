"""Cut a text of any length to its beginning and its end, and report exactly what is omitted between them. Pure.

Limits are characters and lines, and optionally tokens; the end gets more than the beginning. Cuts are at line ends, but
a line longer than half of its side is cut inside, never within what a reader takes for one character. The shown head
and tail may be folded (`fold`); what is omitted is counted in the unfolded text: `text[:start] + text[start:end] +
text[end:]` is the whole of it. Lines that imitate notes of nacre are escaped (`notes`), including those that
only a cut makes look like one.
"""

from __future__ import annotations

from collections.abc import Iterator

from nacre.ansi.width import first_cut_after, last_cut_before
from nacre.base.frozen import frozen, replace
from nacre.output import fold
from nacre.output.fold import FoldedLines
from nacre.output.notes import mark_spoofed
from nacre.output.tokens import longest_within, quarter_tokens


@frozen(kw_only=True)
class TextLimits:
    """Maximum size of a text."""

    chars: int = 30_000
    lines: int = 1_000
    tokens: int | None = None
    """Approximate maximum number of tokens (`tokens`); None: not counted."""
    head: float = 0.35
    """Share of the beginning, from 0 to 1."""

    def less(self, chars: int, lines: int, quarters: int | None = None) -> TextLimits:
        """Return the limits minus the given characters, lines and quarters of a token. At least half of each limit
        remains."""
        quarters = chars if quarters is None else quarters
        return TextLimits(
            chars=max(self.chars - chars, self.chars // 2),
            lines=max(self.lines - lines, self.lines // 2),
            tokens=None if self.tokens is None else max(self.tokens - quarters // 4 - 1, self.tokens // 2),
            head=self.head,
        )


@frozen(kw_only=True)
class TruncatedText:
    """The beginning and the end of a text, and the range that is omitted between them."""

    head: tuple[FoldedLines, ...]
    tail: tuple[FoldedLines, ...]
    start: int
    end: int
    """`text[start:end]` is omitted."""
    gap: bool = False
    """True if data that was never in the text is missing between head and tail."""

    @property
    def complete(self) -> bool:
        """True if nothing is omitted."""
        return self.start == self.end and not self.gap

    @property
    def hidden(self) -> int:
        """Number of lines that are folded in the shown part."""
        return sum(piece.hidden for piece in (*self.head, *self.tail))

    @property
    def similar(self) -> int:
        """Number of folded lines that differ from the lines shown."""
        return sum(piece.similar for piece in (*self.head, *self.tail))


class _Remaining:
    """The unused rest of some limits."""

    __slots__ = ("chars", "lines", "quarters")

    def __init__(self, chars: int, lines: int, quarters: int | None) -> None:
        self.chars = chars
        self.lines = lines
        self.quarters = quarters

    @classmethod
    def from_limits(cls, limits: TextLimits, share: float = 1.0) -> _Remaining:
        tokens = None if limits.tokens is None else int(limits.tokens * 4 * share)
        return cls(int(limits.chars * share), int(limits.lines * share), tokens)

    def less(self, other: _Remaining) -> _Remaining:
        quarters = None if self.quarters is None or other.quarters is None else self.quarters - other.quarters
        return _Remaining(self.chars - other.chars, self.lines - other.lines, quarters)

    def take(self, piece: FoldedLines, sign: int = 1) -> None:
        self.chars -= sign * (len(piece.text) + 1)
        self.lines -= sign * (3 if piece.hidden else 1)
        if self.quarters is not None:
            self.quarters -= sign * (quarter_tokens(piece.text) + 1)

    @property
    def over(self) -> bool:
        return self.chars < 0 or self.lines < 0 or (self.quarters is not None and self.quarters < 0)

    def longest(self, text: str, extra: int, *, back: bool = False) -> int:
        """Return how many characters of a part of a line fit, together with `extra` others."""
        if self.lines < 1:
            return 0
        count = max(0, min(self.chars - 1 - extra, len(text)))
        if self.quarters is None:
            return count
        room = max(0, self.quarters - 1 - extra)
        return longest_within(text[len(text) - count :] if back else text[:count], room, back=back)


def cut(
    text: str, limits: TextLimits, *, aside: TextLimits | None = None, gap: int | None = None, folding: bool = True
) -> TruncatedText:
    """Return the beginning and the end that fit.

    If not everything fits, the limits are `aside` instead: they leave room for a note about the omission. At `gap`,
    data is already missing; whatever else does not fit is omitted there.
    """
    forward, backward = (fold.forward, fold.backward) if folding else (fold.plain_forward, fold.plain_backward)
    aside = limits if aside is None else aside
    if gap is not None:
        limits = aside
    stop, begin = (len(text), 0) if gap is None else (gap, gap)
    room = _Remaining.from_limits(limits, limits.head)
    head = _pieces_that_fit(forward(text, 0, stop), room)
    first = _Remaining.from_limits(limits, limits.head).less(room)
    start = head[-1].end if head else 0
    room = _Remaining.from_limits(limits).less(first)
    tail = _pieces_that_fit(backward(text, max(start, begin), len(text)), room)
    last = _Remaining.from_limits(limits).less(first).less(room)
    end = tail[-1].start if tail else len(text)
    if gap is None and start == end:
        return TruncatedText(head=tuple(head), tail=tuple(reversed(tail)), start=start, end=end)
    room = _trim_pieces(head, _Remaining.from_limits(aside, aside.head).less(first))
    start = head[-1].end if head else 0
    if part := _beginning(text, start, min(stop, end), room, aside):
        head.append(part)
        room.take(part)
        start = part.end
    first = _Remaining.from_limits(aside, aside.head).less(room)
    room = _trim_pieces(tail, _Remaining.from_limits(aside).less(first).less(last))
    end = tail[-1].start if tail else len(text)
    if part := _ending(text, max(start, begin), end, room, aside):
        tail.append(part)
        end = part.start
    return TruncatedText(head=tuple(head), tail=tuple(reversed(tail)), start=start, end=end, gap=gap is not None)


def _pieces_that_fit(pieces: Iterator[FoldedLines], room: _Remaining) -> list[FoldedLines]:
    taken = []
    for each in pieces:
        piece = _mark_spoofed_piece(each) if "[" in each.text else each
        room.take(piece)
        if room.over:
            room.take(piece, -1)
            break
        taken.append(piece)
    return taken


def _mark_spoofed_piece(piece: FoldedLines) -> FoldedLines:
    if piece.hidden:
        first, between, last = piece.text.split("\n")
        text = f"{mark_spoofed(first)}\n{between}\n{mark_spoofed(last)}"
    else:
        text = mark_spoofed(piece.text)
    return piece if text == piece.text else replace(piece, text=text)


def _trim_pieces(pieces: list[FoldedLines], room: _Remaining) -> _Remaining:
    """Remove pieces from the end of the list until the limits are met; return the rest of the limits."""
    while pieces and room.over:
        room.take(pieces.pop(), -1)
    return room


def _beginning(text: str, start: int, most: int, room: _Remaining, limits: TextLimits) -> FoldedLines | None:
    """Return the beginning of the line that did not fit, if it is a long one."""
    stop = text.find("\n", start, most)
    line = text[start : most if stop < 0 else stop][: limits.chars + 1]
    if not _is_long(line, limits, limits.head):
        return None
    extra = -1
    shown, place = "", start
    while len(shown) - (place - start) > extra:  # the escaping backslashes have to fit, too
        extra = max(0, len(shown) - (place - start))
        place = last_cut_before(text, start + room.longest(line, extra), start)
        shown = mark_spoofed(text[start:place])
    return FoldedLines(shown, start, place) if place > start else None


def _ending(text: str, least: int, end: int, room: _Remaining, limits: TextLimits) -> FoldedLines | None:
    stop = end - 1 if end > least and text[end - 1] == "\n" else end
    begin = max(least, text.rfind("\n", least, stop) + 1, stop - limits.chars - 1)
    line = text[begin:stop]
    if not _is_long(line, limits, 1 - limits.head):
        return None
    extra = -1
    shown, place = "", stop
    while len(shown) - (stop - place) > extra:
        extra = max(0, len(shown) - (stop - place))
        place = first_cut_after(text, stop - room.longest(line, extra, back=True), stop)
        shown = mark_spoofed(text[place:stop])
    return FoldedLines(shown, place, end) if place < stop else None


def _is_long(line: str, limits: TextLimits, share: float) -> bool:
    half = share / 2
    if len(line) >= limits.chars * half:
        return True
    return limits.tokens is not None and quarter_tokens(line) >= limits.tokens * 4 * half
