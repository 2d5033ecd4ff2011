"""Fold runs of lines that say the same: keep the first and the last, with the number of hidden lines between. Pure.

A run is a sequence of adjacent lines with one key:

- `identical` lines. Folded as soon as that is shorter.
- `progress`: lines that tools print while all goes well (tests that passed, packages that are fetched, unpacked or
  compiled), alike in all but names. Folded from `MIN_HIDDEN_PROGRESS_LINES` hidden lines on.
- `similar` lines: alike in all but numbers, each of which counts or runs with the time (`varying_numbers`). A number
  that does neither, such as a status, is treated as a word: lines that differ in it are not similar. A run with a share
  of the whole or a time is folded from `MIN_HIDDEN_PROGRESS_LINES` hidden lines on, any other from
  `MIN_HIDDEN_NUMBERED_LINES` on. Never folded: lines with more digits than letters, which are data, and numbered lines
  (`grep -n`), because the numbers were requested.

Lines that report an error or a warning (`error_lines.notable_lines`) are folded only if identical.

Each piece knows the part of the text that it stands for, so that the next step counts what it omits in lines of the
text, not in lines shown, and how many lines cannot be reconstructed from what is shown (`FoldedLines.similar`). Pieces
are generated lazily, from the front (`forward`) or from the back (`backward`): if a text will be cut, only the parts
that are shown are folded. Both directions see the same runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.output.error_lines import is_notable, notable_lines
from nacre.output.varying_numbers import BAR, NUMBER, classify

MIN_HIDDEN_PROGRESS_LINES = 8
"""Minimum number of hidden lines in a run of progress."""
MIN_HIDDEN_NUMBERED_LINES = 48
"""Minimum number of hidden lines in a run of lines that differ in numbers."""
_PROBE_LINES = 512
"""Lines of a run after which it is clear whether continuing it is worthwhile."""
MAX_LINE_CHARS = 2000
"""Maximum length of a line that may be part of a run, in characters."""

_LAYER = lazy_regex(
    r"[0-9a-f]{12}: (?:Pull complete|Already exists|Pulling fs layer|Waiting|Download complete|Layer already exists"
    r"|Pushed|Preparing)\s*"
)
_STEP = lazy_regex(r"\[\s*(?:\d{1,3}%|\d+/\d+)\] +(?:Building|Linking|Generating|Compiling|Copying|CC|CXX|LD)\b.*")
_BAR = lazy_regex(r"\s+[━╸╺─█-]{10,} .*")
_BEGINNINGS = {
    "Compiling": ("built", lazy_regex(r"\s+\w+ \S+ v\d.*")),
    "Downloading": ("collected", lazy_regex(r"\s+\w+ \S.*")),
    "Collecting": ("collected", lazy_regex(r"\w+ \S.*")),
    "Obtaining": ("collected", lazy_regex(r"\w+ \S.*")),
    "Using": ("collected", lazy_regex(r"\s+Using cached \S.*")),
    "Requirement": ("satisfied", lazy_regex(r"Requirement already satisfied: .*")),
    "Selecting": ("unpacked", lazy_regex(r"Selecting previously unselected package .*")),
    "Preparing": ("unpacked", lazy_regex(r"Preparing to unpack .*")),
    "Unpacking": ("unpacked", lazy_regex(r"Unpacking \S.* \.\.\.")),
    "Setting": ("set up", lazy_regex(r"Setting up \S.* \.\.\.")),
    "test": ("passed", lazy_regex(r"test \S.* \.\.\. ok")),
    "ok": ("passed", lazy_regex(r"ok \d+\b.*")),
    "---": ("passed", lazy_regex(r"\s*--- PASS: .*")),
    "===": ("passed", lazy_regex(r"=== (?:RUN|PAUSE|CONT|NAME) .*")),
    "✓": ("passed", lazy_regex(r".*")),
    "✔": ("passed", lazy_regex(r".*")),
    "√": ("passed", lazy_regex(r".*")),
    **{word: ("built", lazy_regex(r"\s+\w+ \S+ v\d.*")) for word in ("Checking", "Fresh", "Documenting")},
    **{word: ("fetched", lazy_regex(r"\s+\w+ \S+ v\d.*")) for word in ("Downloaded", "Adding", "Updating", "Locking")},
    **{
        word: ("made", lazy_regex(r"  \w+ +(?:\[M\] +)?\S+"))
        for word in ("CC", "CXX", "LD", "AR", "AS", "GEN", "HOSTCC")
    },
}
"""The first word of a line, the kind of progress that such lines report, and the pattern of the whole line."""
_GOT = ("Get:", "Hit:", "Ign:")
_FIRST = frozenset(" \t[GHI0123456789abcdef━╸╺─█-").union(word[0] for word in _BEGINNINGS)
"""First characters of all progress lines."""
_RUNNING = lazy_regex(r"0 ?%|(?:^|[ \[(])0/0\b|^\W{0,2}0-0-0[T ]0:0|^\[?0:0:0|^[A-Z][a-z]{2} 0 0:0:0 ")
"""A key with a share of the whole, or with a time at the beginning of the line."""
_NUMBERED = lazy_regex(r"\s*(?:[^\s:]{1,200}:)?\s*\d+[:\t)](?!\d)|[^\s:]{0,200}[^\s:\d]:\d+:|[^\s:]{1,200}-\d+-(?!\d)")
"""Line numbers as written by `grep -n`, `cat -n` and compilers."""
_BLANKS = lazy_regex(r"[ \t]{2,}")
_LETTERS = lazy_regex(r"[^\W\d_]")
_DIGITS = str.maketrans("123456789", "000000000")
_DIGIT = lazy_regex(r"\d")
_KNOWN = "\0"
"""Prefix of a key that names a kind of progress."""
_BLOCK_CHARS = 64 * 1024


@frozen
class FoldedLines:
    """A line, or a run of lines that is shown as three."""

    text: str
    """Text to show, without its final newline."""
    start: int
    end: int
    """End of the part of the text that it stands for, including its final newline."""
    lines: int = 1
    hidden: int = 0
    """Number of its lines that are not shown."""
    similar: int = 0
    """Number of hidden lines that differ from the lines shown."""


_Line: TypeAlias = tuple[str, int, int, int]
"""Text, start, end, and number of consecutive repetitions. Not a class: there are many."""


def plain_forward(text: str, start: int, end: int) -> Iterator[FoldedLines]:
    """Yield each line as its own piece, from the front."""
    return (piece for line in _lines(text, start, end) for piece in _pieces(line))


def plain_backward(text: str, start: int, end: int) -> Iterator[FoldedLines]:
    """Yield each line as its own piece, from the back."""
    return (piece for line in _lines_back(text, start, end) for piece in _pieces(line, back=True))


def forward(text: str, start: int, end: int) -> Iterator[FoldedLines]:
    """Yield the pieces of a part of the text, from the front."""
    return _fold_lines(text, _lines(text, start, end), back=False)


def backward(text: str, start: int, end: int) -> Iterator[FoldedLines]:
    """Yield the same pieces, from the back."""
    return _fold_lines(text, _lines_back(text, start, end), back=True)


def fold(text: str) -> str:
    """Fold a whole text."""
    shown = "\n".join(piece.text for piece in forward(text, 0, len(text)))
    return shown + "\n" if text.endswith("\n") else shown


def _lines(text: str, start: int, end: int) -> Iterator[_Line]:
    find, startswith = text.find, text.startswith
    while start < end:
        stop = find("\n", start, end)
        if stop < 0:
            yield text[start:end], start, end, 1
            return
        line, after, count = text[start:stop], stop + 1, 1
        if startswith(line, after, end) and startswith(unit := text[start:after], after, end):
            length = len(unit)
            while len(unit) < _BLOCK_CHARS and startswith(unit, after, end):
                after += len(unit)
                unit += unit
            while len(unit) >= length:
                while startswith(unit, after, end):
                    after += len(unit)
                unit = unit[: len(unit) // 2]
            count = (after - start) // length
        yield line, start, after, count
        start = after


def _lines_back(text: str, start: int, end: int) -> Iterator[_Line]:
    endswith = text.endswith
    while start < end:
        stop = end - 1 if text[end - 1] == "\n" else end
        begin = max(start, text.rfind("\n", start, stop) + 1)
        line, first, count = text[begin:stop], begin, 1
        if stop < end and endswith(unit := text[begin:end], start, first):
            length = len(unit)
            while len(unit) < _BLOCK_CHARS and endswith(unit, start, first):
                first -= len(unit)
                unit += unit
            while len(unit) >= length:
                while endswith(unit, start, first):
                    first -= len(unit)
                unit = unit[: len(unit) // 2]
            # A match with the end of the text may be the end of a longer line.
            while first > start and text[first - 1] != "\n":
                first += length
            count = (end - first) // length
        yield line, first, end, count
        end = first


def _pieces(line: _Line, *, back: bool = False) -> Iterator[FoldedLines]:
    text, start, end, count = line
    if count == 1:
        yield FoldedLines(text, start, end)
        return
    length = len(text) + 1
    starts = range(start, end, length)
    for place in reversed(starts) if back else starts:
        yield FoldedLines(text, place, place + length)


def _fold_lines(text: str, lines: Iterator[_Line], *, back: bool) -> Iterator[FoldedLines]:
    run: list[_Line] = []
    key: str | None = None
    zeros: str | None = None
    for line in lines:
        if len(run) == _PROBE_LINES and key is not None and not key.startswith(_KNOWN) and _mostly_distinct(run, back):
            for each in run:
                yield from _run_pieces([each], 2, back)
            run, key, zeros = [], None, None
        if len(run) > 1 and key is not None and not key.startswith(_KNOWN):
            before, zeros = zeros, line[0].translate(_DIGITS)
            if zeros == before:  # lines that differ in digits only have one key
                run.append(line)
                continue
        new = _key(line[0])
        if run and new is not None and new == key and _min_hidden(key) is not None and not _is_alone(run, line):
            run.append(line)
            continue
        if len(run) == 1 and run[0][3] == 1:  # most lines
            yield FoldedLines(run[0][0], run[0][1], run[0][2])
        else:
            yield from _fold_run(text, run, key, back)
        run, key, zeros = [line], new, None
    yield from _fold_run(text, run, key, back)


def _is_alone(run: list[_Line], line: _Line) -> bool:
    """Return true if a run begins with a notable line and the next differs: a reader needs every distinct error."""
    return len(run) == 1 and line[0] != run[0][0] and is_notable(run[0][0])


def _mostly_distinct(run: list[_Line], back: bool) -> bool:
    """Return true if the numbers of most lines carry information: a log of that kind may be long."""
    says = classify([line[0] for line in (reversed(run) if back else run)]).words
    return sum(1 for before, after in pairwise(says) if before != after) > len(says) // 2


def _progress(line: str) -> str:
    """Return the kind of progress that a line reports; empty if it is not progress."""
    if "::" in line:
        if " PASSED" in line or " XFAIL" in line:
            return "passed"
        if " SKIPPED" in line:
            return "skipped"
    if line[0] not in _FIRST and not line.endswith(") ... ok"):
        return ""
    first = line.split(None, 1)[0]
    known = _BEGINNINGS.get(first)
    if known is not None and known[1].fullmatch(line):
        return known[0]
    if line[0] == "[":
        return "step" if _STEP.fullmatch(line) else ""
    if line.endswith(") ... ok"):
        return "passed"
    if line.startswith(_GOT):
        return "got"
    if line[12:14] == ": " and _LAYER.fullmatch(line):
        return "layer" + line[13:]
    return "collected" if len(first) >= 10 and first[0] in "━╸╺─█-" and _BAR.fullmatch(line) else ""


def _key(line: str) -> str | None:
    """Return the part that similar lines share. None: the line is like no other."""
    if len(line) > MAX_LINE_CHARS:
        return None
    if not line or line.isspace():
        return line
    if progress := _progress(line):
        return _KNOWN + progress
    if _DIGIT.search(line) is None or _NUMBERED.match(line):
        return line
    varied = NUMBER.sub("0", line)
    if "  " in varied or "\t" in varied:
        varied = _BLANKS.sub(" ", varied)
    if "==" in varied or "##" in varied or "━" in varied or "█" in varied or "..." in varied:
        varied = BAR.sub("=", varied)
    return varied


@lru_cache(maxsize=256)
def _min_hidden(key: str) -> int | None:
    """Return the minimum number of hidden lines in a run with this key. None: the lines are data and never folded."""
    if key.startswith(_KNOWN) or _RUNNING.search(key):
        return MIN_HIDDEN_PROGRESS_LINES
    letters, numbers = len(_LETTERS.findall(key)), key.count("0")
    return None if letters < 3 or letters < 2 * numbers else MIN_HIDDEN_NUMBERED_LINES


def _fold_run(text: str, run: list[_Line], key: str | None, back: bool) -> Iterator[FoldedLines]:
    """Yield a run as one piece or as its lines; notable lines divide it."""
    least = _min_hidden(key) if key is not None and len(run) > 1 else None
    if key is None or least is None:
        for line in run:
            yield from _run_pieces([line], 2, back)
        return
    first, last = (run[-1], run[0]) if back else (run[0], run[-1])
    notable = set(notable_lines(text, first[1], last[2]))
    part: list[_Line] = []
    for line in run:
        alone = line[1] in notable
        if part and alone == (part[0][1] in notable) and (not alone or line[0] == part[0][0]):
            part.append(line)
            continue
        yield from _split_run(part, key, least, back)
        part = [line]
    yield from _split_run(part, key, least, back)


def _split_run(run: list[_Line], key: str, least: int, back: bool) -> Iterator[FoldedLines]:
    """Yield lines that are alike but for numbers, split at each change of a number that carries information."""
    if key.startswith(_KNOWN) or len(run) < 3 or sum(line[3] for line in run) - 2 < least:
        yield from _run_pieces(run, least, back)
        return
    said = classify([line[0] for line in (reversed(run) if back else run)])
    least = MIN_HIDDEN_PROGRESS_LINES if said.running else MIN_HIDDEN_NUMBERED_LINES
    says = said.words[::-1] if back else said.words
    if says.count(says[0]) == len(says):
        yield from _run_pieces(run, least, back)
        return
    part: list[_Line] = []
    for index, line in enumerate(run):
        if part and says[index] != says[index - 1]:
            yield from _run_pieces(part, least, back)
            part = []
        part.append(line)
    yield from _run_pieces(part, least, back)


def _run_pieces(run: list[_Line], least: int, back: bool) -> Iterator[FoldedLines]:
    count = sum(line[3] for line in run)
    if count > 4:
        first, last = (run[-1], run[0]) if back else (run[0], run[-1])
        same = all(line[0] == first[0] for line in run)
        kind = "similar" if not same else "identical" if first[0].strip() else "blank"
        marker = f"[… {count - 2:,} {kind} lines]"
        saved = last[2] - first[1] - len(first[0]) - len(last[0]) - 2
        if (same or count - 2 >= least) and len(marker) + 1 < saved:
            shown = f"{first[0]}\n{marker}\n{last[0]}"
            yield FoldedLines(shown, first[1], last[2], count, count - 2, 0 if same else count - 2)
            return
    for line in run:
        yield from _pieces(line, back=back)
