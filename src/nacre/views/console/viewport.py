"""What a command has printed → the lines that a person is shown of it. Pure, and bounded in time and size.

stdout and stderr in the order they came; a line is stderr's if it occurs there and nowhere in stdout. What stands for
something else (left out, binary, cut) is a note, never a line of the command's own. What the result hides is masked.
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
"""Lines."""
_HEAD_SHARE = 0.3
"""Of those, at the beginning."""
_END_BYTES = 64 * 1024
"""At either end of the capture that are worth decoding for so few lines."""
_CLEARS = lazy_regex(r"\x1b(?:\[[23]J|c|\[\?(?:1049|1047|47)[hl])")
"""Clear the whole screen, or leave it for another. On a terminal it hides what was printed before; here it may not."""
_STRING = lazy_regex(r"\x1b[\]P_^X](\d{0,4})")

LineOrigin: TypeAlias = Literal["out", "err", "note"]


class Counts(NamedTuple):
    """Lines."""

    out: int
    err: int
    exact: bool = True
    """False: there were more."""


@frozen
class ViewportLine:
    text: str
    origin: LineOrigin = "out"


@frozen(kw_only=True)
class Viewport:
    lines: tuple[ViewportLine, ...] = ()
    kind: ContentKind = "plain"
    hidden: int = 0
    """Lines that are not shown, if that can be known."""
    cut: bool = False
    """Not everything is shown."""
    erased: int = 0
    """Lines that the command has printed and then taken back, as progress bars do."""
    ignored_sequences: tuple[str, ...] = ()
    """What it would have had the terminal do."""


def viewport(result: Result, *, most: int = MAX_LINES, longest: int = 2000) -> Viewport:
    """`longest`: characters of one line."""
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
    """Lines, the last one also if it has no end; and whether these are all."""
    data = part.head + part.tail
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data)), not part.dropped_bytes


def _join_streams(result: Result) -> Captured:
    """For a result that was made without the merged stream."""
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
    """The beginning, the end, and how many bytes are between them; one piece if there are none."""
    if not both.dropped_bytes:
        data = both.head + both.tail
        if len(data) <= 2 * _END_BYTES:
            return data, b"", 0
        return data[:_END_BYTES], data[-_END_BYTES:], len(data) - 2 * _END_BYTES
    head, tail = both.head[:_END_BYTES], both.tail[-_END_BYTES:]
    return head, tail, both.total_bytes - len(head) - len(tail)


@frozen
class _CutMasker:
    """What is to be masked in a text of which more may be missing at an end."""

    secrets: tuple[str, ...] = ()
    start: bool = False
    end: bool = False

    def mask(self, text: str) -> str:
        """With as many lines as before."""
        return mask(text, self.secrets, starts_cut=self.start, ends_cut=self.end) if self.secrets else text


def _lines(data: bytes, errors: frozenset[bytes], cut: _CutMasker, *, whole: bool) -> tuple[list[ViewportLine], int]:
    """What is left of them, and how many are not."""
    found = binary.find(data)
    if found is None:
        return _text(data, errors, cut)
    stop = len(data) - found.after
    size = stop - found.before
    kind = found.kind or ("of no known kind" if cut.secrets else "")  # else it would begin with bytes, perhaps of one
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
    """As many as there is room for, and how many are not among them."""
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
    """Commands beyond the screen, by what they are for."""
    if b"\x1b" not in data:
        return ()
    text = data.decode("latin-1")
    return tuple(dict.fromkeys(_IGNORED_SEQUENCES.get(found[1], "device control") for found in _STRING.finditer(text)))


def last_lines(data: bytes, count: int, longest: int, secrets: tuple[str, ...] = ()) -> list[str]:
    """Of the end of a stream that goes on: the last lines, each on one line of a terminal."""
    rows = _CutMasker(secrets, start=True, end=True).mask(render(decode(data)).text).split("\n")
    if rows[-1] == "":
        rows.pop()
    return [cut(escape_output(row.expandtabs()), longest) for row in rows[-count:]] if count > 0 else []
