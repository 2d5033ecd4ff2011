"""Find byte strings in dumps: the text of `xxd`, `od` and `hexdump` in, the spans that show those bytes out. Pure.

A dump breaks a value over lines, with offsets between and the same bytes as a text column. Lines that look like a
dump's (with or without offset and text column, numbers or characters in columns) are joined again, in each notation
that they may be in. Most of these readings are wrong; a value is found if one of them is right.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, product
from typing import NamedTuple, TypeAlias

from nacre.base.lazy_regex import lazy_regex
from nacre.redact.dump_notations import NAMES, NOTATIONS, Notation, traces_of

Span: TypeAlias = tuple[int, int]

_MIN_PART_BYTES = 4
"""Minimum length of a part of a value, at an end where text is missing."""
_MAX_CHARS_PER_BYTE = 32
_MAX_LINE_CHARS = 512
_NUMBER = r"-?(?:0[xX])?[0-9A-Fa-f]{1,512}+,?"
_NUMBERS = lazy_regex(
    rf"\n(?:[0-9A-Fa-f]{{1,16}}:[ \t]*+"
    rf"(?P<xxd>{_NUMBER}(?: {_NUMBER})*(?: {{2,15}}[0-9A-Fa-f]{{2,14}}(?=  ))?)(?![^\s])"
    rf"|(?:[0-9A-Fa-f]{{4,16}}+(?=[ \t]+[^\s]))?[ \t]*+"
    rf"(?P<plain>{_NUMBER}(?:[ \t]++{_NUMBER})*)(?=[ \t]*+(?:[|>\n]|\Z)))[^\n]*+"
)
"""A line of numbers, with the newline before it: the regex engine finds a literal prefix fast. Groups are not
possessive: Python before 3.11.5 matches those wrongly."""
_CELL = (
    rf"   [^\n]|  \\[0abfnrtv]|  \*\*| [0-3][0-7]{{2}}|  (?:{'|'.join(name for name in NAMES if len(name) == 2)})"
    rf"| (?:{'|'.join(name for name in NAMES if len(name) == 3)})"
)
_CELLS = lazy_regex(
    rf"\n(?:[0-9A-Fa-f]{{1,16}}+| {{6,16}}?)?(?=(?P<cells>(?:{_CELL})+))(?P=cells)[ ]*+(?:\\|[0-7]{{1,2}})?(?=\n|\Z)"
)
"""A line of characters in columns, as written by `od -c`. They are matched once, by the lookahead: otherwise a line of
spaces would be matched again from each of them."""
_EACH_CELL = lazy_regex(_CELL)
_WORD = lazy_regex(r"[^\s]+")
_FRAGMENT = lazy_regex(r"\n?[0-9A-Fa-f]{0,16}:?[ \t]*")
"""A possible rest of a dump's line that was cut."""
_UNFINISHED = lazy_regex(r"[0-9A-Fa-f]{0,512}:?(?:[ \t][^\n]*)?")


_CUTS = ("", "word", "digit")
"""Part of the first or last word to ignore at an end where text is missing."""


class _Line(NamedTuple):
    start: int
    end: int
    first: int
    last: int
    """Range of its numbers or cells; `start` to `end` may include an offset and a text column."""
    words: list[str]
    cells: bool = False


_Block: TypeAlias = list[_Line]


def find_in_dumps(
    text: str, values: tuple[bytes, ...], *, starts_cut: bool = False, ends_cut: bool = False
) -> list[Span]:
    """Return the spans of the values' bytes.

    `starts_cut`, `ends_cut`: text is missing at that end, so that a part of a value counts there.
    """
    spans: list[Span] = []
    reach = _max_dump_chars(values)
    if starts_cut:
        first = text[: min(_line_end(text, reach), 2 * reach)]  # a line may be endless
        for offset in ("", "0000: "):  # the offset may be missing
            found = _find(offset + first, (0, len(offset + first)), values, NOTATIONS, starts_cut=True)
            spans += [(max(0, start - len(offset)), max(0, end - len(offset))) for start, end in found]
        spans += _find_beside_cut(text, values)
    if ends_cut:
        last = max(_line_start(text, len(text) - reach), len(text) - 2 * reach)
        spans += _find(text, (last, len(text)), values, NOTATIONS, ends_cut=True)
    after_newline = f"\n{text}"
    kinds = [cells for cells in (False, True) if (_CELLS if cells else _NUMBERS).search(after_newline)]
    if kinds:
        for notation, places in _likely(text, values):
            if notation.cells in kinds:
                for region in _regions(text, places, reach):
                    spans += _find(text, region, values, (notation,))
    return spans


def partial_match_in_dump(text: str, values: tuple[bytes, ...]) -> int:
    """Return the offset of the first dump line that may contain a part of a value continued after the text; else the
    text's length."""
    last = text.rfind("\n") + 1
    if (last < len(text) and _UNFINISHED.fullmatch(text, last) is None) or not values:
        return len(text)
    place = last
    region = _line_start(text, last - _max_dump_chars(values)), last
    for notation in NOTATIONS:
        for block in _blocks(text, region, notation.cells):
            if block[-1].end + 1 == last:
                parts = [notation.decode(line.words) for line in block]
                data, ends = b"".join(parts), list(accumulate(map(len, parts)))
                if part := max(_overlap(data, value[:-1], 1) for value in values):
                    place = min(place, block[bisect_right(ends, len(data) - part)].start)
    return place


def _likely(text: str, values: tuple[bytes, ...]) -> Iterator[tuple[Notation, list[int]]]:
    """Yield notations in which the text may show a value, and the offsets of the evidence."""
    words = Counter(text.split())
    traces = traces_of(values)
    rare = [{min(each, key=words.__getitem__) for each in sets if words.keys() >= each} for _, sets, _ in traces]
    wanted = frozenset().union(*rare)
    places = [(word[0], word.start()) for word in _WORD.finditer(text) if word[0] in wanted] if wanted else []
    for (notation, _, parts), own in zip(traces, rare, strict=True):
        near = {place for word, place in places if word in own}
        near.update(place for part in parts for place in _all_places(text, part))
        if near:
            yield notation, sorted(near)


def _all_places(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + len(part))


def _regions(text: str, places: list[int], reach: int) -> Iterator[Span]:
    """Yield spans of whole lines around these offsets, as far as a value may reach."""
    start = end = -1
    for place in places:
        if place - reach > end:
            if end >= 0:
                yield _line_start(text, start), _line_end(text, end)
            start = place - reach
        end = place + reach
    if end >= 0:
        yield _line_start(text, start), _line_end(text, end)


def _max_dump_chars(values: tuple[bytes, ...]) -> int:
    """Return the maximum number of characters that a dump needs for a value."""
    return _MAX_CHARS_PER_BYTE * max(map(len, values)) + _MAX_LINE_CHARS


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, max(0, place)) + 1


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _find(
    text: str,
    region: Span,
    values: tuple[bytes, ...],
    notations: Iterable[Notation],
    *,
    starts_cut: bool = False,
    ends_cut: bool = False,
) -> Iterator[Span]:
    for cells in (False, True):
        blocks: list[_Block] | None = None
        for notation in notations:
            if notation.cells == cells:
                blocks = list(_blocks(text, region, cells)) if blocks is None else blocks
                for block in blocks:
                    yield from _in_block(text, block, notation, values, starts_cut, ends_cut)


def _find_beside_cut(text: str, values: tuple[bytes, ...]) -> Iterator[Span]:
    """Yield the text column of a first line that was cut: it shows bytes whose numbers are missing."""
    end = _line_end(text, 0)
    line = next(_lines(text, (0, _line_end(text, end + 1)), False), None)
    if line is None or line.start > end + 1:
        return
    for value in values:
        shown = value.decode("utf-8", "replace")
        parts = {shown[at : at + _MIN_PART_BYTES] for at in range(len(shown) - _MIN_PART_BYTES + 1)}
        places = [place for part in parts if (place := text.find(part, 0, end)) >= 0]
        if places:
            yield min(places), end


def _blocks(text: str, region: Span, cells: bool) -> Iterator[_Block]:
    """Yield groups of consecutive dump lines; `od` can alternate between two kinds of lines."""
    block: _Block = []
    for line in _lines(text, region, cells):
        if block and text.count("\n", block[-1].end, line.start) > 2:
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _lines(text: str, region: Span, cells: bool) -> Iterator[_Line]:
    start, end = region
    part = f"\n{text[start:end]}"
    for match in (_CELLS if cells else _NUMBERS).finditer(part):
        kind = match.lastgroup or ""
        words, first = match[kind], match.start(kind)
        if kind == "xxd" and "  " in words and not _is_padded(words):
            words = words[: words.index("  ")]
        yield _Line(
            start + match.start(),
            start + match.end() - 1,
            start + first - 1,
            start + first - 1 + len(words),
            _EACH_CELL.findall(words) if cells else words.split(),
            cells,
        )


def _is_padded(numbers: str) -> bool:
    """Return true if `xxd -e` padded with spaces before an incomplete last word."""
    words = numbers.split()
    return len(words) * (len(words[0]) + 1) - 1 == len(numbers) and len(words[-1]) < len(words[0])


def _in_block(
    text: str, block: _Block, notation: Notation, values: tuple[bytes, ...], starts_cut: bool, ends_cut: bool
) -> Iterator[Span]:
    at_start = starts_cut and "\n" not in text[: max(0, block[0].start - 1)]
    at_end = ends_cut and _FRAGMENT.fullmatch(text, block[-1].end) is not None
    for first_cut, last_cut in product(_CUTS if at_start else _CUTS[:1], _CUTS if at_end else _CUTS[:1]):
        whole = _without_ends(text, block, first_cut, last_cut)
        parts = [notation.decode(line.words) for line in whole]
        data, ends = b"".join(parts), list(accumulate(map(len, parts)))
        for first, last in _hits(data, values, at_start, at_end):
            if at_start and first == 0:
                yield 0, whole[0].first
                yield whole[0].last, whole[0].end
            for index in range(bisect_right(ends, first), len(whole)):
                begin = ends[index] - len(parts[index])
                if begin < last and parts[index]:
                    part = max(first - begin, 0), min(last - begin, len(parts[index]))
                    yield from _digit_spans(text, whole[index], notation, parts[index], part)
            if at_end and last == len(data):
                yield whole[-1].last, len(text)


def _without_ends(text: str, block: _Block, first_cut: str, last_cut: str) -> _Block:
    """Return the block without the rest of a first or last word that was cut."""
    if first_cut and block[0].words:
        line, (start, end) = block[0], _places(text, block[0])[0]
        if first_cut == "digit" and end - start > 1 and not line.cells:
            block = [line._replace(first=start + 1, words=[text[start + 1 : end], *line.words[1:]]), *block[1:]]
        else:
            block = [line._replace(first=end, words=line.words[1:]), *block[1:]]
    if last_cut and block[-1].words:
        line, (start, end) = block[-1], _places(text, block[-1])[-1]
        if last_cut == "digit" and end - start > 1 and not line.cells:
            block = [*block[:-1], line._replace(last=end - 1, words=[*line.words[:-1], text[start : end - 1]])]
        else:
            block = [*block[:-1], line._replace(last=start, words=line.words[:-1])]
    return block


def _places(text: str, line: _Line) -> list[Span]:
    """Return the spans of a line's words."""
    if not line.cells:
        return [word.span() for word in _WORD.finditer(text, line.first, line.last)]
    starts = accumulate(map(len, line.words), initial=line.first)
    return [(start, start + len(cell)) for start, cell in zip(starts, line.words, strict=False)]


def _hits(data: bytes, values: tuple[bytes, ...], at_start: bool, at_end: bool) -> Iterator[Span]:
    for value in values:
        place = data.find(value)
        while place >= 0:
            yield place, place + len(value)
            place = data.find(value, place + len(value))
        if at_end and (part := _overlap(data, value, _MIN_PART_BYTES)):
            yield len(data) - part, len(data)
        if at_start and (part := _overlap(value, data, _MIN_PART_BYTES)):
            yield 0, part


def _overlap(before: bytes, after: bytes, least: int) -> int:
    """Return the length of the longest suffix of `before` that is a prefix of `after`; 0 if shorter than `least`."""
    first, end = after[:least], before[max(0, len(before) - len(after)) :]
    place = end.find(first) if len(first) == least else -1
    while place >= 0 and not after.startswith(end[place:]):
        place = end.find(first, place + 1)
    return len(end) - place if place >= 0 else 0


def _digit_spans(text: str, line: _Line, notation: Notation, data: bytes, part: Span) -> Iterator[Span]:
    """Yield the spans of the digits of some of a line's bytes, and of the same bytes in the text column."""
    first, last = part
    count = 0
    shown: list[int] = []
    for word, (start, stop) in zip(line.words, _places(text, line), strict=True):
        size = len(notation.decode_word(word))
        if count < last and first < count + size:
            digits = start + 2 if word[1:2] in ("x", "X") else start
            whole = not notation.exact
            shown.append(start if whole or first <= count else digits + 2 * (first - count))
            shown.append(stop if whole or last >= count + size else digits + 2 * (last - count))
        count += size
    begin = shown[0]
    while not notation.exact and text[max(0, begin - 2) : begin] == "  ":  # padding before a number with fewer digits
        begin -= 1
    yield begin, shown[-1]
    rest = text[line.last : line.end]
    beside = _find_text_column(rest, data)
    if beside is not None:
        yield line.last + beside + first, min(line.last + beside + last, line.end)
    elif rest.strip():
        yield line.last + len(rest) - len(rest.lstrip()), line.end


def _find_text_column(rest: str, data: bytes) -> int | None:
    """Return the offset of the text column, one character per byte; None if it is unknown."""
    wanted = "".join([chr(byte) if 32 <= byte < 127 else "." for byte in data])
    for start in (2, len(rest) - len(data), len(rest) - len(data) - 1):
        shown = rest[start : start + len(data)] if start >= 0 else ""
        if shown and shown.ljust(len(data)) == wanted:
            return start
    return None
