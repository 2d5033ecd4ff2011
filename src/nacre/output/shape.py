"""The pipeline: one captured stream in, the text that a model reads out. Pure.

It works on what was captured, which is bounded. What was dropped between its head and its tail is in the spill, if
anywhere: who can read that gives its number of lines and its error lines as `Middle`. The text with all its remarks is
never over the limits.
"""

from __future__ import annotations

from collections.abc import Iterable

from nacre.frozen import frozen
from nacre.output import binary, remarks
from nacre.output.remarks import Middle
from nacre.output.secrets import mask
from nacre.output.source import Source, is_wide, source_of, text_of
from nacre.output.truncate import Cut, Limits, cut
from nacre.result import Captured, Spill

LEAST_CHARS = 500
LEAST_LINES = 10


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

    def __post_init__(self) -> None:
        if self.chars < LEAST_CHARS or self.lines < LEAST_LINES or not 0 <= self.head <= 1 or self.errors < 0:
            raise ValueError(f"no text can be made of so little: {self.chars} characters, {self.lines} lines")
        if self.tokens is not None and self.tokens * 4 < LEAST_CHARS:
            raise ValueError(f"no text can be made of so little: {self.tokens} tokens")


DEFAULT = Options()


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


def shape(
    captured: Captured | bytes,
    options: Options = DEFAULT,
    *,
    secrets: Iterable[str] = (),
    spill: Spill | None = None,
    middle: Middle | None = None,
) -> Shaped:
    """What a model reads of it. The `secrets` are masked; the `spill` is named only where something is left out."""
    hidden = tuple(secrets)
    if isinstance(captured, bytes):
        captured = Captured(head=captured, seen=len(captured))
    if not is_wide(captured.head) and (found := binary.find(captured.head, captured.tail)):
        return _binary(captured, found, options, hidden, spill)
    middle = middle if captured.dropped else None
    source = source_of(captured, hidden, None if middle is None else middle.lines)
    return _text(source, options, hidden, spill, middle)


def _binary(
    captured: Captured, found: binary.Binary, options: Options, secrets: tuple[str, ...], spill: Spill | None
) -> Shaped:
    data = captured.head + captured.tail
    size = captured.seen - found.before - found.after
    note = binary.describe(found.kind, size, data[found.before :])
    if spill is not None and spill.complete and len(spill.path) < options.chars // 4:
        note = f"{note[:-1]}; see {remarks.quoted(spill.path)}]"
    parts = (data[: found.before], data[len(data) - found.after :])
    before, after = (mask(text_of(part).text, secrets) for part in parts)
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


def _limits(options: Options) -> Limits:
    return Limits(chars=options.chars, lines=options.lines, tokens=options.tokens, head=options.head)


def _text(
    source: Source, options: Options, secrets: tuple[str, ...], spill: Spill | None, middle: Middle | None
) -> Shaped:
    text = source.text
    limits = _limits(options)
    most = min(options.errors, options.lines // 4)
    for_errors = min(most * (remarks.EXCERPT + 20) + 50, options.chars // 4)
    for_marker = min(200 + 2 * len(spill.path if spill else ""), options.chars // 4)
    aside = limits.less(for_errors + for_marker, most + 2)
    shown = cut(text, limits, aside=aside, gap=source.gap, folding=options.fold)
    uncounted = bool(source.dropped) and middle is None
    dropped_lines = middle.lines if middle else 0
    left = text[shown.start : shown.end]
    left_lines = None if uncounted else left.count("\n") + dropped_lines
    lines = None
    if left_lines is not None:
        lines = text.count("\n", 0, shown.start) + left_lines + text.count("\n", shown.end)
    if shown.complete:
        return Shaped(text=_joined(shown, ()), lines=lines, folded=shown.hidden)
    left_bytes = (len(left) if left.isascii() else len(left.encode())) + source.dropped
    amount = f"{left_bytes:,} bytes" if source.dropped else f"{len(left):,} characters"
    if left_lines is None:
        counted = amount
    elif left_lines:
        counted = f"{left_lines:,} lines, {amount}"
    else:
        counted = f"{amount} of line {source.number(shown.start)}"
    notes = (
        remarks.marker(counted, source, shown, spill, for_marker),
        *remarks.errors(source, shown, middle, secrets, most=most, room=for_errors),
    )
    return Shaped(
        text=_joined(shown, notes),
        lines=lines,
        omitted_lines=left_lines,
        omitted_chars=len(left),
        omitted_bytes=left_bytes,
        folded=shown.hidden,
        notes=notes,
    )


def _joined(shown: Cut, notes: Iterable[str]) -> str:
    return "\n".join((*(piece.text for piece in shown.head), *notes, *(piece.text for piece in shown.tail)))
