"""What is said in the text about what is not in it: how much, where to read it, and the errors in it. Pure.

A remark is a line of its own in brackets that begins with `[…`.
"""

from __future__ import annotations

from itertools import islice

from nacre.frozen import frozen
from nacre.output.decode import clean
from nacre.output.errors import ErrorLine, error_lines, excerpt, few
from nacre.output.secrets import mask
from nacre.output.source import Source
from nacre.output.tokens import quarters
from nacre.output.truncate import Cut
from nacre.result import Spill

EXCERPT = 160
"""Characters of an error line that are shown."""
_COUNTED = 1000
"""Error lines that are looked for on one side of what was not captured."""


@frozen
class Middle:
    """What is known of the part that was not captured, by who can read the spill (see `errors.Scanner`)."""

    lines: int
    """Its newlines."""
    errors: tuple[ErrorLine, ...] = ()
    """A few lines of it that tell of a failure, numbered from 1 within it."""
    total: int = 0
    """How many there are of those."""


def marker(counted: str, source: Source, shown: Cut, spill: Spill | None, room: int) -> str:
    """How much is left out and how to read it; only the file, if there is no room for that; or neither."""
    whole = f"[… {counted} left out]"
    if spill is None:
        return whole
    path = quoted(spill.path)
    kept = "" if spill.complete else f"; the first {spill.bytes:,} bytes of it all are kept"
    if span := source.span(shown.start, shown.end):
        command = f"sed -n '{span[0]},{span[1]}p' {path}"
    else:
        command = f"tail -c +{source.captured + 1} {path} | head -c {source.dropped}"
    for text in (f"{kept}; to read it: {command}]", f"{kept}; see {path}]"):
        if len(whole) + len(text) <= room:
            return whole[:-1] + text
    return whole


def quoted(path: str) -> str:
    """As a shell takes it."""
    plain = path.isascii() and path.replace("/", "").replace(".", "").replace("-", "").replace("_", "").isalnum()
    return path if plain else "'" + clean(path).replace("'", "'\\''") + "'"


def errors(
    source: Source, shown: Cut, middle: Middle | None, secrets: tuple[str, ...], *, most: int, room: int
) -> tuple[str, ...]:
    """A few of the error lines of what is left out, with their numbers."""
    found, total = _found(source, shown, middle) if most else ([], 0)
    lines = []
    for known, place, line in few(found, most):
        number = source.number(place) if known is None else known
        words = excerpt(mask(clean(line), secrets), EXCERPT)
        lines.append(f"[… {'' if number is None else f'{number}: '}{words}]")
    while lines and quarters("\n".join(lines)) + 50 > room:
        lines.pop()
    if not lines:
        return ()
    those = f"{total:,} of them tell" if total > 1 else "one of them tells"
    if total >= _COUNTED:
        those = f"{total:,} of them or more tell"
    return (f"[… {those} of errors{':' if total == len(lines) else f', {len(lines)} of these are:'}]", *lines)


def _found(source: Source, shown: Cut, middle: Middle | None) -> tuple[list[tuple[int | None, int, str]], int]:
    """The number of each line, if it is known, else where it begins, and its text; and how many there are in all."""
    text, gap = source.text, source.gap
    stop = shown.end if gap is None else min(gap, shown.end)
    before = list(islice(error_lines(text, shown.start, stop), _COUNTED))
    after = [] if gap is None else list(islice(error_lines(text, gap, shown.end), _COUNTED))
    known: tuple[ErrorLine, ...] = ()
    total = len(before) + len(after)
    if gap is not None and middle is not None:
        known = middle.errors
        total += max(middle.total, len(known))
    first = (source.before_tail or 0) - (middle.lines if middle else 0)
    return [
        *((None, place, line) for place, line in before),
        *((first + each.number, 0, each.text) for each in known),
        *((None, place, line) for place, line in after),
    ], total
