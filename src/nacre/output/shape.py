"""The pipeline: one captured stream in, the text that a model reads out. Pure.

It works on what was captured, which is bounded. What was dropped between its head and its tail is in the spill, if
anywhere: who can read that gives its number of lines and its error lines as `Middle` (see `errors.Scanner`).

Remarks are lines of their own in brackets that begin with `[…`; the text with all of them is never over the limits.
Lines are numbered as in the spill, also where a progress bar has written over many of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from nacre.frozen import frozen
from nacre.output import binary
from nacre.output.decode import clean, decode, decode_wide, is_plain, wide
from nacre.output.errors import ErrorLine, error_lines, excerpt, few
from nacre.output.secrets import mask
from nacre.output.terminal import Seen, seen
from nacre.output.tokens import quarters
from nacre.output.truncate import Cut, Limits, cut
from nacre.result import Captured, Spill

LEAST_CHARS = 500
LEAST_LINES = 10
_EXCERPT = 160
_COUNTED = 1000
"""Error lines that are looked for on one side of what was not captured."""


@frozen(kw_only=True)
class Options:
    chars: int = 30_000
    """Characters of the text, with its remarks. At least `LEAST_CHARS`."""
    lines: int = 1_000
    """Lines of it, likewise. At least `LEAST_LINES`."""
    tokens: int | None = None
    """About so many tokens (`tokens`); None: not counted."""
    head: float = 0.35
    """The share of the beginning in what is shown of a text that is too long."""
    fold: bool = True
    errors: int = 5
    """Error lines that are shown of what is left out."""
    secrets: tuple[str, ...] = ()
    """Values that are masked."""

    def __post_init__(self) -> None:
        if self.chars < LEAST_CHARS or self.lines < LEAST_LINES or not 0 <= self.head <= 1 or self.errors < 0:
            raise ValueError(f"no text can be made of so little: {self.chars} characters, {self.lines} lines")
        if self.tokens is not None and self.tokens * 4 < LEAST_CHARS:
            raise ValueError(f"no text can be made of so little: {self.tokens} tokens")


DEFAULT = Options()


@frozen
class Middle:
    """What is known of the part that was not captured."""

    lines: int
    """Its newlines."""
    errors: tuple[ErrorLine, ...] = ()
    """A few lines of it that tell of a failure, numbered from 1 within it."""
    total: int = 0
    """How many there are of those."""


@frozen(kw_only=True)
class Shaped:
    text: str = ""
    """Without the newline at its end."""
    lines: int | None = 0
    """Newlines of the whole output as a person would see it; None when they were not counted."""
    omitted_lines: int | None = 0
    """Newlines in what is left out; None when they were not counted."""
    omitted_chars: int = 0
    """Characters left out of what was captured."""
    omitted_bytes: int = 0
    """The same in bytes of UTF-8, and what was not captured."""
    folded: int = 0
    """Lines in what is shown that only their number is left of."""
    binary: str = ""
    """What it is, when it is not text."""
    notes: tuple[str, ...] = ()
    """The remarks in the text, a line each."""


@frozen(kw_only=True)
class _Source:
    """A text and where it comes from."""

    text: str
    gap: int | None
    head: tuple[int, ...] | None
    tail: tuple[int, ...] | None
    before_tail: int | None
    """Newlines of the raw output before the tail."""
    captured: int
    """Bytes of the head."""
    dropped: int

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


def shape(
    captured: Captured | bytes,
    options: Options = DEFAULT,
    *,
    spill: Spill | None = None,
    middle: Middle | None = None,
) -> Shaped:
    """What a model reads of it. The `spill` is named only where something is left out."""
    if isinstance(captured, bytes):
        captured = Captured(head=captured, seen=len(captured))
    if not _is_wide(captured.head) and (found := binary.find(captured.head, captured.tail)):
        return _binary(captured, found, options)
    source = _source(captured, options.secrets, middle)
    return _shaped(source, options, spill, middle)


def _is_wide(data: bytes) -> bool:
    """It has the mark of UTF-16 or UTF-32, and is what it says."""
    if not (encoding := wide(data)):
        return False
    sample = decode_wide(data[:4096], encoding)
    odd = sum(not (char.isprintable() or char in "\n\r\t\x1b") for char in sample)
    return odd <= 0.1 * len(sample)


def _binary(captured: Captured, found: binary.Binary, options: Options) -> Shaped:
    data = captured.head + captured.tail
    size = captured.seen - found.before - found.after
    note = binary.describe(found.kind, size, data[found.before :])
    parts = (data[: found.before], data[len(data) - found.after :])
    before, after = (mask(_seen(part).text, options.secrets) for part in parts)
    limits = _limits(options)
    shown = cut(before + after, limits, aside=limits.less(len(note) + 2, 1), gap=len(before), folding=options.fold)
    omitted = before[shown.start :] + after[: shown.end - len(before)]
    return Shaped(
        text=_joined(shown, (note,)),
        lines=None,
        omitted_lines=None,
        omitted_chars=len(omitted),
        omitted_bytes=size + len(omitted.encode()),
        folded=shown.hidden,
        binary=found.kind or "unknown",
        notes=(note,),
    )


def _seen(data: bytes) -> Seen:
    return Seen(decode(data)) if is_plain(data) else seen(decode(data))


def _source(captured: Captured, secrets: tuple[str, ...], middle: Middle | None) -> _Source:
    """Decoded, as on a screen, masked."""
    encoding = wide(captured.head) if _is_wide(captured.head) else ""

    def text(data: bytes, offset: int = 0) -> Seen:
        return seen(decode_wide(data, encoding, offset)) if encoding else _seen(data)

    if not captured.dropped:
        whole = text(captured.head + captured.tail)
        masked = mask(whole.text, secrets)
        return _Source(text=masked, gap=None, head=whole.numbers, tail=None, before_tail=None, captured=0, dropped=0)
    head, tail = text(captured.head), text(captured.tail, captured.seen - len(captured.tail))
    first = mask(head.text, secrets, ends_cut=True)
    return _Source(
        text=first + mask(tail.text, secrets, starts_cut=True),
        gap=len(first),
        head=head.numbers,
        tail=tail.numbers,
        before_tail=None if middle is None else captured.head.count(b"\n") + middle.lines,
        captured=len(captured.head),
        dropped=captured.dropped,
    )


def _limits(options: Options) -> Limits:
    return Limits(chars=options.chars, lines=options.lines, tokens=options.tokens, head=options.head)


def _shaped(source: _Source, options: Options, spill: Spill | None, middle: Middle | None) -> Shaped:
    text = source.text
    limits = _limits(options)
    for_errors = min(options.errors * (_EXCERPT + 20) + 40, options.chars // 4)
    for_marker = min(200 + 2 * len(spill.path if spill else ""), options.chars // 4)
    aside = limits.less(for_errors + for_marker, min(options.errors, options.lines // 4) + 2)
    shown = cut(text, limits, aside=aside, gap=source.gap, folding=options.fold)
    total = text.count("\n") if middle is None or not source.dropped else text.count("\n") + middle.lines
    lines = None if source.dropped and middle is None else total
    if shown.complete:
        return Shaped(text=_joined(shown, ()), lines=lines, folded=shown.hidden)
    left = text[shown.start : shown.end]
    left_lines = left.count("\n") + (middle.lines if middle is not None and source.dropped else 0)
    left_bytes = (len(left) if left.isascii() else len(left.encode())) + source.dropped
    amount = f"{left_bytes:,} bytes" if source.dropped else f"{len(left):,} characters"
    counted = f"{left_lines:,} lines, {amount}" if lines is not None else amount
    if lines is not None and not left_lines:
        counted = f"{amount} of line {source.number(shown.start)}"
    marker = f"[… {counted} left out{_where(source, shown, spill, for_marker - len(counted) - 20)}]"
    errors = _errors(source, shown, options, middle, for_errors)
    return Shaped(
        text=_joined(shown, (marker, *errors)),
        lines=lines,
        omitted_lines=None if lines is None else left_lines,
        omitted_chars=len(left),
        omitted_bytes=left_bytes,
        folded=shown.hidden,
        notes=(marker, *errors),
    )


def _joined(shown: Cut, notes: Iterable[str]) -> str:
    return "\n".join((*(piece.text for piece in shown.head), *notes, *(piece.text for piece in shown.tail)))


def _where(source: _Source, shown: Cut, spill: Spill | None, room: int) -> str:
    """How to read what is left out; the file, if there is no room for that; or nothing."""
    if spill is None:
        return ""
    path = _quoted(spill.path)
    kept = "" if spill.complete else f"; the first {spill.bytes:,} bytes of it all are kept"
    if span := source.span(shown.start, shown.end):
        command = f"sed -n '{span[0]},{span[1]}p' {path}"
    else:
        command = f"tail -c +{source.captured + 1} {path} | head -c {source.dropped}"
    for text in (f"{kept}; to read it: {command}", f"{kept}; see {path}"):
        if len(text) <= room:
            return text
    return ""


def _quoted(path: str) -> str:
    plain = path.isascii() and path.replace("/", "").replace(".", "").replace("-", "").replace("_", "").isalnum()
    path = clean(path)
    return path if plain else "'" + path.replace("'", "'\\''") + "'"


def _errors(source: _Source, shown: Cut, options: Options, middle: Middle | None, room: int) -> tuple[str, ...]:
    """A few of the error lines of what is left out, with their numbers."""
    text, gap = source.text, source.gap
    if not options.errors:
        return ()
    stop = shown.end if gap is None else min(gap, shown.end)
    found: list[tuple[int | None, int, str]] = []
    """The number of the line, if it is known; else where it begins; its text."""
    for place, line in islice(error_lines(text, shown.start, stop), _COUNTED):
        found.append((None, place, line))
    total = len(found)
    if gap is not None:
        if middle is not None:
            base = (source.before_tail or 0) - middle.lines
            found += [(base + each.number, 0, each.text) for each in middle.errors]
            total += max(middle.total, len(middle.errors))
        after = [(None, place, line) for place, line in islice(error_lines(text, gap, shown.end), _COUNTED)]
        found += after
        total += len(after)
    lines = []
    for known, place, line in few(found, options.errors):
        number = source.number(place) if known is None else known
        words = excerpt(mask(clean(line), options.secrets), _EXCERPT)
        lines.append(f"[… {'' if number is None else f'{number}: '}{words}]")
    while lines and len("\n".join(lines)) + 40 > room:
        lines.pop()
    if options.tokens is not None:
        while lines and quarters("\n".join(lines)) + 40 > room:
            lines.pop()
    if not lines:
        return ()
    those = f"{total:,} of them tell" if total > 1 else "one of them tells"
    if total >= _COUNTED:
        those = f"{total:,} of them or more tell"
    return (f"[… {those} of errors{':' if total == len(lines) else f', {len(lines)} of these are:'}]", *lines)
