"""The pipeline from a captured stream to the text that a model reads. Pure.

The input is the captured data, which is bounded. Data dropped between its head and its tail is only in the spill, if
anywhere: a reader of the spill supplies its number of lines and its error lines as `OmittedMiddle`. The text with all
its notes never exceeds the limits.
"""

from __future__ import annotations

from collections.abc import Iterable

from nacre.base.frozen import frozen
from nacre.output import binary, markers
from nacre.output.binary import Binary
from nacre.output.markers import Allowance, OmittedMiddle
from nacre.output.source import Source, build_source, is_wide, render_text
from nacre.output.tokens import quarter_tokens
from nacre.output.truncate import TextLimits, TruncatedText, cut
from nacre.redact.mask import mask
from nacre.result import Captured, Spill

MIN_CHARS = 500
MIN_LINES = 10
_SECRET_SEARCH_BYTES = 8 * 1024
"""Bytes of binary data that are searched for a secret before the first few are shown."""


@frozen(kw_only=True)
class ShapeOptions:
    """Limits and switches of the pipeline."""

    chars: int = 30_000
    """Maximum characters of the text, including its notes. At least `MIN_CHARS`."""
    lines: int = 1_000
    """Maximum lines of the text, including its notes. At least `MIN_LINES`."""
    tokens: int | None = None
    """Approximate maximum number of tokens (`tokens`); None: not counted."""
    head: float = 0.35
    """Share of the beginning in the shown part of a text that is too long, from 0 to 1."""
    fold: bool = True
    errors: int = 5
    """Maximum number of error lines shown from the omitted part."""

    def __post_init__(self) -> None:
        if not 0 <= self.head <= 1:
            raise ValueError(f"head must be a fraction from 0 to 1, not {self.head}")
        if self.errors < 0:
            raise ValueError(f"errors must be a number of lines, not {self.errors}")
        if self.chars < MIN_CHARS or self.lines < MIN_LINES:
            raise ValueError(f"limits too small: {self.chars} characters, {self.lines} lines")
        if self.tokens is not None and self.tokens * 4 < MIN_CHARS:
            raise ValueError(f"limit too small: {self.tokens} tokens")


DEFAULT = ShapeOptions()


@frozen(kw_only=True)
class ShapedText:
    """The text for a model, with counts of what it omits and hides."""

    text: str = ""
    """The text, without its final newline."""
    lines: int | None = 0
    """Newlines of the whole output as a person would see it; None if not counted."""
    omitted_lines: int | None = 0
    """Newlines in the omitted part; None if not counted."""
    omitted_chars: int = 0
    """Characters omitted from the captured text."""
    omitted_bytes: int = 0
    """Bytes omitted, in UTF-8; if a part was not captured, all omitted bytes of the raw output."""
    omitted_from: int = 0
    """Byte offset in the output of the omitted part, or of the first line of it."""
    folded: int = 0
    """Number of lines in the shown part that are replaced by a count."""
    similar: int = 0
    """Number of folded lines that cannot be reconstructed from the lines shown."""
    erased: int = 0
    """Number of lines that the output itself erased by clearing the screen."""
    binary: str = ""
    """Type of the data if it is not text; empty for text."""
    notes: tuple[str, ...] = ()
    """The notes in the text, one line each."""


@frozen(kw_only=True)
class DecodedStream:
    """A captured stream, decoded and rendered. This is most of the work; the result can be shaped more than once."""

    captured: Captured
    secrets: tuple[str, ...]
    middle: OmittedMiddle | None = None
    binary: Binary | None = None
    source: Source | None = None
    """None if the stream is binary."""


def decode_stream(
    captured: Captured | bytes, *, secrets: Iterable[str] = (), middle: OmittedMiddle | None = None
) -> DecodedStream:
    """Decode, render and mask a captured stream, or detect that it is binary."""
    hidden = tuple(secrets)
    if isinstance(captured, bytes):
        captured = Captured(head=captured, total_bytes=len(captured))
    if not is_wide(captured.head) and (found := binary.find(captured.head, captured.tail)):
        return DecodedStream(captured=captured, secrets=hidden, binary=found)
    middle = middle if captured.dropped_bytes else None
    source = build_source(captured, hidden, None if middle is None else middle.lines)
    return DecodedStream(captured=captured, secrets=hidden, middle=middle, source=source)


def shape(
    captured: Captured | DecodedStream | bytes,
    options: ShapeOptions = DEFAULT,
    *,
    secrets: Iterable[str] = (),
    spill: Spill | None = None,
    middle: OmittedMiddle | None = None,
) -> ShapedText:
    """Return the text that a model reads. Mask the `secrets`; name the `spill` only if the text is not the whole
    output."""
    made = captured if isinstance(captured, DecodedStream) else decode_stream(captured, secrets=secrets, middle=middle)
    if spill is not None and mask(spill.path, made.secrets) != spill.path:
        spill = None  # a masked path would not be a path
    if made.binary is not None:
        return _binary(made.captured, made.binary, options, made.secrets, spill)
    assert made.source is not None
    return _text(made.source, options, made.secrets, spill, made.middle)


def _binary(
    captured: Captured, found: Binary, options: ShapeOptions, secrets: tuple[str, ...], spill: Spill | None
) -> ShapedText:
    data = captured.head + captured.tail
    size = captured.total_bytes - found.before - found.after
    note = binary.describe(found.kind, size, _first_bytes(data[found.before :], secrets))
    if spill is not None and spill.complete and len(spill.path) < options.chars // 4:
        named = f"{note[:-1]}; see {markers.quote_path(spill.path)}]"
        note = named if _room(options, options.chars // 3).holds(named) else note
    parts = (data[: found.before], data[len(data) - found.after :])
    before = mask(render_text(parts[0]).text, secrets, ends_cut=True)
    after = mask(render_text(parts[1]).text, secrets, starts_cut=True)
    limits = _limits(options)
    aside = limits.less(len(note) + 2, 1, quarter_tokens(note) + 2)
    shown = cut(before + after, limits, aside=aside, gap=len(before), folding=options.fold)
    omitted = before[shown.start :] + after[: shown.end - len(before)]
    return ShapedText(
        text=_join_pieces(shown, (note,)),
        lines=None,
        omitted_lines=None,
        omitted_chars=len(omitted),
        omitted_bytes=size + len(omitted.encode()),
        omitted_from=found.before,
        folded=shown.hidden,
        similar=shown.similar,
        binary=found.kind or "unknown",
        notes=(note,),
    )


def _first_bytes(data: bytes, secrets: tuple[str, ...]) -> bytes:
    """Return the first 16 bytes; none if they may contain a secret."""
    text = data[:_SECRET_SEARCH_BYTES].decode("latin-1")
    hidden = [secret.encode("utf-8", "surrogateescape").decode("latin-1") for secret in secrets]
    return data[:16] if mask(text, hidden, starts_cut=True, ends_cut=True) == text else b""


def _limits(options: ShapeOptions) -> TextLimits:
    return TextLimits(chars=options.chars, lines=options.lines, tokens=options.tokens, head=options.head)


def _room(options: ShapeOptions, chars: int) -> Allowance:
    """Return an allowance of `chars` characters, but no more than a quarter of the total."""
    tokens = options.tokens
    return Allowance(min(chars, options.chars // 4), None if tokens is None else min(chars, tokens - 8))


def _text(
    source: Source, options: ShapeOptions, secrets: tuple[str, ...], spill: Spill | None, middle: OmittedMiddle | None
) -> ShapedText:
    text, limits = source.text, _limits(options)
    most = min(options.errors, options.lines // 4)
    for_errors = _room(options, most * (markers.MAX_EXCERPT_CHARS + 20) + 60)
    for_marker = _room(options, 200 + 2 * len(spill.path if spill else ""))
    aside = limits.less(for_errors.chars + for_marker.chars, most + 2, _sum(for_errors.quarters, for_marker.quarters))
    shown = cut(text, limits, aside=aside, gap=source.gap, folding=options.fold)
    notes: tuple[str, ...] = ()
    if shown.complete and (shown.similar or source.erased) and spill is not None and spill.complete:
        again = cut(text, limits.less(for_marker.chars, 1, for_marker.quarters), aside=aside, folding=options.fold)
        if for_marker.holds(note := markers.folded_marker(again.similar, source.erased, spill)):
            shown, notes = again, (note,)
    if shown.complete:
        return ShapedText(
            text=_join_pieces(shown, (), notes),
            lines=text.count("\n"),
            folded=shown.hidden,
            similar=shown.similar,
            erased=source.erased,
            notes=notes,
        )
    amount = _amount(source, shown, middle)
    notes = (
        markers.omitted_marker(amount.describe(source.number(shown.start)), source, shown, spill, for_marker),
        *markers.error_excerpt(source, shown, middle, secrets, most=most, room=for_errors),
    )
    return ShapedText(
        text=_join_pieces(shown, notes),
        lines=amount.all_lines,
        omitted_lines=amount.lines,
        omitted_chars=shown.end - shown.start,
        omitted_bytes=amount.bytes,
        omitted_from=source.extent(shown.start, shown.end)[0],
        folded=shown.hidden,
        similar=shown.similar,
        erased=source.erased,
        notes=notes,
    )


@frozen(kw_only=True)
class _OmittedAmount:
    """The omitted amount: of the text, or, if not all of it was captured, of the raw output."""

    lines: int | None
    chars: int | None
    bytes: int
    all_lines: int | None

    def describe(self, number: int | None) -> str:
        amount = f"{self.bytes:,} bytes" if self.chars is None else f"{self.chars:,} characters"
        if self.lines is None:
            return amount
        return f"{self.lines:,} lines, {amount}" if self.lines else f"{amount} of line {number}"


def _amount(source: Source, shown: TruncatedText, middle: OmittedMiddle | None) -> _OmittedAmount:
    text, start, end = source.text, shown.start, shown.end
    if source.gap is None:
        left = text[start:end]
        lines = left.count("\n")
        size = len(left) if left.isascii() else len(left.encode())
        rest = text.count("\n", 0, start) + text.count("\n", end)
        return _OmittedAmount(lines=lines, chars=len(left), bytes=size, all_lines=lines + rest)
    first, last = source.extent(start, end)
    if middle is None:
        return _OmittedAmount(lines=None, chars=None, bytes=last - first, all_lines=None)
    tail = last - source.seen + len(source.raw_tail)
    lines = source.raw.count(b"\n", first) + middle.lines + source.raw_tail.count(b"\n", 0, tail)
    rest = text.count("\n", 0, start) + text.count("\n", end)
    return _OmittedAmount(lines=lines, chars=None, bytes=last - first, all_lines=lines + rest)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _join_pieces(shown: TruncatedText, between: Iterable[str], after: Iterable[str] = ()) -> str:
    return "\n".join((*(piece.text for piece in shown.head), *between, *(piece.text for piece in shown.tail), *after))
