"""What a command has printed → the lines that a person is shown of it. Pure, and bounded in time and size.

stdout and stderr in the order they came; a line is stderr's if it occurs there and nowhere in stdout. What stands for
something else (left out, binary, cut) is a note, never a line of the command's own. What the result hides is masked.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from nacre.ansi.decode import decode
from nacre.ansi.render import seen
from nacre.base.frozen import frozen
from nacre.base.lazy_regex import later
from nacre.output import binary
from nacre.redact.mask import mask
from nacre.result import Captured, Result
from nacre.views.console.escape import cut, printed
from nacre.views.console.highlight import Kind, kind_of

MOST = 100
"""Lines."""
_FIRST = 0.3
"""Of those, at the beginning."""
_BYTES = 64 * 1024
"""At either end of the capture that are worth decoding for so few lines."""
_CLEARS = later(r"\x1b(?:\[[23]J|c|\[\?(?:1049|1047|47)[hl])")
"""Clear the whole screen, or leave it for another. On a terminal it hides what was printed before; here it may not."""
_STRING = later(r"\x1b[\]P_^X](\d{0,4})")

From: TypeAlias = Literal["out", "err", "note"]


class Counts(NamedTuple):
    """Lines."""

    out: int
    err: int
    exact: bool = True
    """False: there were more."""


@frozen
class Line:
    text: str
    origin: From = "out"


@frozen(kw_only=True)
class View:
    lines: tuple[Line, ...] = ()
    kind: Kind = "plain"
    hidden: int = 0
    """Lines that are not shown, if that can be known."""
    cut: bool = False
    """Not everything is shown."""
    erased: int = 0
    """Lines that the command has printed and then taken back, as progress bars do."""
    deaf: tuple[str, ...] = ()
    """What it would have had the terminal do."""


def viewport(result: Result, *, most: int = MOST, longest: int = 2000) -> View:
    """`longest`: characters of one line."""
    both = result.both if result.both.seen or not (result.out.seen or result.err.seen) else _joined(result)
    errors = _only_errors(result)
    head, tail, gap = _ends(both)
    secrets = () if result.hidden is None else result.hidden.values()
    first, erased = _lines(head, errors, _Cut(secrets, end=bool(gap)), whole=not gap)
    last, erased_last = _lines(tail, errors, _Cut(secrets, start=True), whole=True) if gap else ([], 0)
    kept = [*first, *last]
    shown, hidden = _chosen(first, last, gap, most)
    lines = tuple(_short(line, longest) for line in shown)
    return View(
        lines=lines,
        kind=kind_of([line.text for line in (kept if not gap else first) if line.origin == "out"]),
        hidden=hidden,
        cut=bool(gap or hidden) or any(len(line.text) > longest for line in shown),
        erased=erased + erased_last,
        deaf=_deaf(head + tail),
    )


def count_lines(part: Captured) -> tuple[int, bool]:
    """Lines, the last one also if it has no end; and whether these are all."""
    data = part.head + part.tail
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data)), not part.dropped


def _joined(result: Result) -> Captured:
    """For a result that was made without the merged stream."""
    out, err = result.out, result.err
    return Captured(
        head=out.head if out.dropped else out.head + out.tail,
        tail=(out.tail if out.dropped else b"") + err.head + err.tail,
        seen=out.seen + err.seen,
        dropped=out.dropped + err.dropped,
    )


def _only_errors(result: Result) -> frozenset[bytes]:
    err = set((result.err.head + result.err.tail).split(b"\n")) - {b""}
    return frozenset(err.difference((result.out.head + result.out.tail).split(b"\n")) if err else ())


def _ends(both: Captured) -> tuple[bytes, bytes, int]:
    """The beginning, the end, and how many bytes are between them; one piece if there are none."""
    if not both.dropped:
        data = both.head + both.tail
        if len(data) <= 2 * _BYTES:
            return data, b"", 0
        return data[:_BYTES], data[-_BYTES:], len(data) - 2 * _BYTES
    head, tail = both.head[:_BYTES], both.tail[-_BYTES:]
    return head, tail, both.seen - len(head) - len(tail)


@frozen
class _Cut:
    """What is to be masked in a text of which more may be missing at an end."""

    secrets: tuple[str, ...] = ()
    start: bool = False
    end: bool = False

    def mask(self, text: str) -> str:
        """With as many lines as before."""
        return mask(text, self.secrets, starts_cut=self.start, ends_cut=self.end) if self.secrets else text


def _lines(data: bytes, errors: frozenset[bytes], cut: _Cut, *, whole: bool) -> tuple[list[Line], int]:
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
    return [*before, Line(note, "note"), *after], 0


def _text(data: bytes, errors: frozenset[bytes], cut: _Cut) -> tuple[list[Line], int]:
    view = seen(_CLEARS.sub("", decode(data)))
    raw = data.split(b"\n") if errors else []
    rows = cut.mask(view.text).split("\n")
    if rows[-1] == "":
        rows.pop()
    lines = []
    for place, row in enumerate(rows):
        number = place if view.numbers is None else view.numbers[place]
        wrong = bool(errors) and number < len(raw) and raw[number] in errors
        lines.append(Line(row, "err" if wrong else "out"))
    total = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return lines, 0 if view.numbers is None else max(total - len(lines), 0)


def _chosen(first: list[Line], last: list[Line], gap: int, most: int) -> tuple[list[Line], int]:
    """As many as there is room for, and how many are not among them."""
    kept = [*first, *last]
    if not gap and len(kept) <= most:
        return kept, 0
    top = max(1, int(most * _FIRST))
    above, below = first[:top], kept[max(len(first[:top]), len(kept) - (most - top)) :]
    hidden = len(kept) - len(above) - len(below)
    what = [f"{gap:,} bytes"] if gap else []
    what += [f"{hidden:,} line{'' if hidden == 1 else 's'}{' around them' if gap else ''}"] if hidden else []
    note = [Line(f"… {' and '.join(what)} not shown …", "note")] if what else []
    return [*above, *note, *below], hidden


def _short(line: Line, longest: int) -> Line:
    if line.origin == "note":
        return line
    text = printed(line.text[:longest].expandtabs())
    more = len(line.text) - longest
    return Line(f"{text}… +{more:,} characters" if more > 0 else text, line.origin)


_DEAF = {"52": "clipboard", "8": "link", "9": "notification", "777": "notification", **dict.fromkeys("012", "title")}


def _deaf(data: bytes) -> tuple[str, ...]:
    """Commands beyond the screen, by what they are for."""
    if b"\x1b" not in data:
        return ()
    text = data.decode("latin-1")
    return tuple(dict.fromkeys(_DEAF.get(found[1], "device control") for found in _STRING.finditer(text)))


def last_lines(data: bytes, count: int, longest: int, secrets: tuple[str, ...] = ()) -> list[str]:
    """Of the end of a stream that goes on: the last lines, each on one line of a terminal."""
    rows = _Cut(secrets, start=True, end=True).mask(seen(decode(data)).text).split("\n")
    if rows[-1] == "":
        rows.pop()
    return [cut(printed(row.expandtabs()), longest) for row in rows[-count:]] if count > 0 else []
