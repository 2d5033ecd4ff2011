"""Selects the lines of a command's output that a person is shown. Pure, and bounded in time and size.

stdout and stderr are in order of arrival; a line counts as stderr's if it occurs there and nowhere in stdout. A
placeholder (for omitted, binary or cut output) is a note, never a line of the command's own. Secrets are masked.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from nacre.ansi.decode import decode
from nacre.ansi.render import render
from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.output import binary
from nacre.redact.mask import mask
from nacre.result import Captured, Result
from nacre.views.console.escape import cut, escape_output
from nacre.views.console.highlight import ContentKind, kind_of

MAX_LINES = 100
"""Default number of lines shown."""
_HEAD_SHARE = 0.3
"""Share of them at the beginning."""
_END_BYTES = 64 * 1024
"""Part of each end of the capture that is decoded: enough for these lines."""
_CLEARS = lazy_regex(r"\x1b(?:\[[23]J|c|\[\?(?:1049|1047|47)[hl])")
"""Sequences that clear the screen or switch to another. On a terminal they hide earlier output; here they must not."""
_STRING = lazy_regex(r"\x1b[\]P_^X](\d{0,4})")

LineOrigin: TypeAlias = Literal["out", "err", "note"]


class Counts(NamedTuple):
    """Numbers of lines in stdout and stderr."""

    out: int
    err: int
    exact: bool = True
    """False if there were more."""


@frozen
class ViewportLine:
    """One line to show; `note` is nacre's own."""

    text: str
    origin: LineOrigin = "out"


@frozen(kw_only=True)
class Viewport:
    """Selected lines, and what is missing."""

    lines: tuple[ViewportLine, ...] = ()
    kind: ContentKind = "plain"
    hidden: int = 0
    """Lines that are not shown, as far as their number is known."""
    cut: bool = False
    """True if some output is not shown."""
    erased: int = 0
    """Lines that the command printed and then overwrote or erased, as progress bars do."""
    ignored_sequences: tuple[str, ...] = ()
    """Purposes of the control sequences that were not passed on, such as `clipboard`."""


def viewport(result: Result, *, most: int = MAX_LINES, longest: int = 2000) -> Viewport:
    """Select up to `most` lines of up to `longest` characters."""
    both = (
        result.both
        if result.both.total_bytes or not (result.out.total_bytes or result.err.total_bytes)
        else _join_streams(result)
    )
    errors = _only_errors(result)
    head, tail, gap = _ends(both)
    secrets = () if result.redactor is None else result.redactor.values()
    first, erased = _lines(head, errors, _CutMasker(secrets, end=bool(gap)), whole=not gap)
    last, erased_last = _lines(tail, errors, _CutMasker(secrets, start=True), whole=True) if gap else ([], 0)
    kept = [*first, *last]
    shown, hidden = _choose_lines(first, last, gap, most)
    lines = tuple(_short(line, longest) for line in shown)
    return Viewport(
        lines=lines,
        kind=kind_of([line.text for line in (kept if not gap else first) if line.origin == "out"]),
        hidden=hidden,
        cut=bool(gap or hidden) or any(len(line.text) > longest for line in shown),
        erased=erased + erased_last,
        ignored_sequences=_ignored_sequences(head + tail),
    )


def count_lines(part: Captured) -> tuple[int, bool]:
    """Return the number of lines, including one that is not complete, and whether this is all of them."""
    data = part.head + part.tail
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data)), not part.dropped_bytes


def _join_streams(result: Result) -> Captured:
    """Join the streams of a result that was made without the merged one."""
    out, err = result.out, result.err
    return Captured(
        head=out.head if out.dropped_bytes else out.head + out.tail,
        tail=(out.tail if out.dropped_bytes else b"") + err.head + err.tail,
        total_bytes=out.total_bytes + err.total_bytes,
        dropped_bytes=out.dropped_bytes + err.dropped_bytes,
    )


def _only_errors(result: Result) -> frozenset[bytes]:
    err = set((result.err.head + result.err.tail).split(b"\n")) - {b""}
    return frozenset(err.difference((result.out.head + result.out.tail).split(b"\n")) if err else ())


def _ends(both: Captured) -> tuple[bytes, bytes, int]:
    """Return the beginning, the end, and the number of bytes between them; short output is all in the beginning."""
    if not both.dropped_bytes:
        data = both.head + both.tail
        if len(data) <= 2 * _END_BYTES:
            return data, b"", 0
        return data[:_END_BYTES], data[-_END_BYTES:], len(data) - 2 * _END_BYTES
    head, tail = both.head[:_END_BYTES], both.tail[-_END_BYTES:]
    return head, tail, both.total_bytes - len(head) - len(tail)


@frozen
class _CutMasker:
    """Masker of secrets for text that may have been cut at either end."""

    secrets: tuple[str, ...] = ()
    start: bool = False
    end: bool = False

    def mask(self, text: str) -> str:
        """Mask `text`. The number of lines stays the same."""
        return mask(text, self.secrets, starts_cut=self.start, ends_cut=self.end) if self.secrets else text


def _lines(data: bytes, errors: frozenset[bytes], cut: _CutMasker, *, whole: bool) -> tuple[list[ViewportLine], int]:
    """Return the lines that remain on the screen, and the number of those that do not."""
    found = binary.find(data)
    if found is None:
        return _text(data, errors, cut)
    stop = len(data) - found.after
    size = stop - found.before
    # without a kind, the note shows the first bytes, which may be those of a secret
    kind = found.kind or ("of no known kind" if cut.secrets else "")
    note = binary.describe(kind, size, data[found.before : found.before + 16]) if whole else "[binary output]"
    before, _ = _text(data[: found.before], errors, cut)
    after, _ = _text(data[stop:], errors, cut)
    return [*before, ViewportLine(note, "note"), *after], 0


def _text(data: bytes, errors: frozenset[bytes], cut: _CutMasker) -> tuple[list[ViewportLine], int]:
    view = render(_CLEARS.sub("", decode(data)))
    raw = data.split(b"\n") if errors else []
    rows = cut.mask(view.text).split("\n")
    if rows[-1] == "":
        rows.pop()
    lines = []
    for place, row in enumerate(rows):
        number = place if view.numbers is None else view.numbers[place]
        wrong = bool(errors) and number < len(raw) and raw[number] in errors
        lines.append(ViewportLine(row, "err" if wrong else "out"))
    total = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return lines, 0 if view.numbers is None else max(total - len(lines), 0)


def _choose_lines(
    first: list[ViewportLine], last: list[ViewportLine], gap: int, most: int
) -> tuple[list[ViewportLine], int]:
    """Return as many lines as there is room for, and the number of lines left out."""
    kept = [*first, *last]
    if not gap and len(kept) <= most:
        return kept, 0
    top = max(1, int(most * _HEAD_SHARE))
    above, below = first[:top], kept[max(len(first[:top]), len(kept) - (most - top)) :]
    hidden = len(kept) - len(above) - len(below)
    what = [f"{gap:,} bytes"] if gap else []
    what += [f"{hidden:,} line{'' if hidden == 1 else 's'}{' around them' if gap else ''}"] if hidden else []
    note = [ViewportLine(f"… {' and '.join(what)} not shown …", "note")] if what else []
    return [*above, *note, *below], hidden


def _short(line: ViewportLine, longest: int) -> ViewportLine:
    if line.origin == "note":
        return line
    text = escape_output(line.text[:longest].expandtabs())
    more = len(line.text) - longest
    return ViewportLine(f"{text}… +{more:,} characters" if more > 0 else text, line.origin)


_IGNORED_SEQUENCES = {
    "52": "clipboard",
    "8": "link",
    "9": "notification",
    "777": "notification",
    **dict.fromkeys("012", "title"),
}


def _ignored_sequences(data: bytes) -> tuple[str, ...]:
    """Return the purposes of control sequences that reach beyond the screen."""
    if b"\x1b" not in data:
        return ()
    text = data.decode("latin-1")
    return tuple(dict.fromkeys(_IGNORED_SEQUENCES.get(found[1], "device control") for found in _STRING.finditer(text)))


def last_lines(data: bytes, count: int, longest: int, secrets: tuple[str, ...] = ()) -> list[str]:
    """Return the last lines of a stream that is still open, each cut to one line of the terminal."""
    rows = _CutMasker(secrets, start=True, end=True).mask(render(decode(data)).text).split("\n")
    if rows[-1] == "":
        rows.pop()
    return [cut(escape_output(row.expandtabs()), longest) for row in rows[-count:]] if count > 0 else []
