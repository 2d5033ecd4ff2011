"""Notes in the text about what is missing from it: how much, where to read it, and the errors in it. Pure.

A note is a line of its own in brackets that begins with `[…`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from nacre.ansi.decode import clean
from nacre.ansi.width import last_cut_before
from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.output.error_lines import ErrorLine, error_lines, excerpt, first_and_last
from nacre.output.notes import mark_spoofed
from nacre.output.source import Source
from nacre.output.tokens import longest_within, quarter_tokens
from nacre.output.truncate import TruncatedText
from nacre.redact.mask import mask_note
from nacre.result import Spill

MAX_EXCERPT_CHARS = 160
"""Maximum length of an error line that is shown, in characters."""
_LINE_ENDS = lazy_regex(r"[\n\t\u2028\u2029]")
_LONE = lazy_regex(r"[\ud800-\udc7f\udd00-\udfff]")
"""Unpaired surrogates that stand for no byte."""
_MAX_ERROR_LINES = 1000
"""Maximum number of error lines searched on each side of the part that was not captured."""


@frozen
class OmittedMiddle:
    """Facts about the part that was not captured, from a reader of the spill (see `error_lines.ErrorScanner`)."""

    lines: int
    """Newlines in it."""
    errors: tuple[ErrorLine, ...] = ()
    """A few of its lines that report a failure, numbered from 1 within it."""
    total: int = 0
    """Number of its lines that report a failure."""

    def masked_errors(self, secrets: Iterable[str]) -> Iterator[ErrorLine]:
        """Yield these lines, masked, with "…" where the first line begins before the part or the last ends after it."""
        secrets = tuple(secrets)
        for error in self.errors:
            before, after = "…" if error.number == 1 else "", "…" if error.number > self.lines else ""
            yield ErrorLine(error.number, mask_note(f"{before}{error.text}{after}", secrets))


@frozen
class Allowance:
    """Space for a note, in characters and optionally in quarters of a token."""

    chars: int
    quarters: int | None = None
    """Quarters of a token; None: tokens are not counted."""

    def holds(self, text: str) -> bool:
        return len(text) <= self.chars and (self.quarters is None or quarter_tokens(text) <= self.quarters)


def omitted_marker(counted: str, source: Source, shown: TruncatedText, spill: Spill | None, room: Allowance) -> str:
    """Return a note on how much is omitted and how to read it; with the path only, or with neither, if space is
    short."""
    whole = f"[… {counted} left out]"
    if spill is None:
        return whole
    first, last = source.extent(shown.start, shown.end)
    kept = "" if spill.complete else f"; the first {spill.bytes:,} bytes of it all are kept"
    last = last if spill.complete else min(last, spill.bytes)
    if last <= first:
        return whole  # the file contains none of it
    path = quote_path(spill.path)
    span = source.span(shown.start, shown.end)
    if spill.complete and span and span[0] < span[1]:
        command = f"sed -n '{span[0]},{span[1]}p' {path}"
    else:  # a part of a line, or the line numbers are unknown
        command = f"tail -c +{first + 1} {path} | head -c {last - first}"
    how = f"; to read {'it' if spill.complete else 'those that are left out'}: {command}]"
    for text in (f"{kept}{how}", f"{kept}; see {path}]"):
        if room.holds(whole[:-1] + text):
            return whole[:-1] + text
    return whole


def folded_marker(similar: int, erased: int, spill: Spill) -> str:
    """Return a note on where to read lines that were folded or erased by the output itself, if nothing is omitted."""
    parts = [f"{count:,} {what}" for count, what in ((similar, "similar"), (erased, "erased")) if count]
    lines = "line is" if similar + erased == 1 else "lines are"
    return f"[… the {' and '.join(parts)} {lines} in {quote_path(spill.path)}]"


def quote_path(path: str) -> str:
    """Quote a path for bash, on one line."""
    if path.isascii() and path.replace("/", "").replace(".", "").replace("-", "").replace("_", "").isalnum():
        return path
    if clean(path) == path and not _LINE_ENDS.search(path):
        return "'" + path.replace("'", "'\\''") + "'"
    data = path.encode("utf-8", "surrogateescape" if not _LONE.search(path) else "replace")
    escaped = [chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}" for byte in data]
    return f"$'{''.join(escaped)}'"


def error_excerpt(
    source: Source,
    shown: TruncatedText,
    middle: OmittedMiddle | None,
    secrets: tuple[str, ...],
    *,
    most: int,
    room: Allowance,
) -> tuple[str, ...]:
    """Return notes with a few error lines of the omitted part, with their line numbers."""
    found, total = _find_errors(source, shown, middle, secrets) if most else ([], 0)
    lines = []
    for known, place, line in first_and_last(found, most):
        number = source.number(place) if known is None else known
        words = excerpt(clean(line), MAX_EXCERPT_CHARS)
        if room.quarters is not None and quarter_tokens(words) > MAX_EXCERPT_CHARS:
            words = words[: last_cut_before(words, longest_within(words, MAX_EXCERPT_CHARS))] + "…"
        lines.append(f"[… {'' if number is None else f'{number}: '}{mark_spoofed(words)}]")
    those = f"{total:,} of them tell" if total > 1 else "one of them tells"
    if total >= _MAX_ERROR_LINES:
        those = f"{total:,} of them or more tell"
    while lines:
        few_of = ":" if total == len(lines) else f", {len(lines)} of these are:"
        made = (f"[… {those} of errors{few_of}]", *lines)
        if room.holds("\n".join(made)):
            return made
        lines.pop()
    return ()


def _find_errors(
    source: Source, shown: TruncatedText, middle: OmittedMiddle | None, secrets: tuple[str, ...]
) -> tuple[list[tuple[int | None, int, str]], int]:
    """Return (line number if known, offset otherwise used, text) of each error line, and their total number."""
    text, gap = source.text, source.gap
    stop = shown.end if gap is None else min(gap, shown.end)
    before = list(islice(error_lines(text, shown.start, stop), _MAX_ERROR_LINES))
    after = [] if gap is None else list(islice(error_lines(text, gap, shown.end), _MAX_ERROR_LINES))
    known: tuple[ErrorLine, ...] = ()
    total = len(before) + len(after)
    if gap is not None and middle is not None:
        known = tuple(middle.masked_errors(secrets))
        total += max(middle.total, len(known))
    first = (source.before_tail or 0) - (middle.lines if middle else 0)
    return [
        *((None, place, line) for place, line in before),
        *((first + each.number, 0, each.text) for each in known),
        *((None, place, line) for place, line in after),
    ], total
