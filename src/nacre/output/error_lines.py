"""Find lines that report a failure. Pure.

The patterns avoid words that only look like a failure: "0 errors", "error.log", "-Werror", "test_error_is_shown
PASSED", "no failures", `errors=None`, "Add error handling". A missed line is still in the spill; a false match costs
tokens.

There is one table. Each row has a few substrings, one of which every such line contains, and a pattern for the whole
line. `is_error` matches a line against it; long texts are first searched for the substrings (`letters`), at the speed
of a plain string search.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from nacre.ansi.decode import decode
from nacre.ansi.render import HELD_NEWLINE, count_newlines, render, strip_invisible
from nacre.ansi.width import last_cut_before
from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.output.multi_search import Find, word_finders

if TYPE_CHECKING:
    from re import Pattern

T = TypeVar("T")
_Row: TypeAlias = "tuple[tuple[str, ...], Pattern[str]]"

MAX_LINE_CHARS = 1000
"""Characters of a line that are examined."""
SEARCHED_CHARS = 1024 * 1024
"""Characters that `error_lines` searches at each end of its text; the middle is not searched."""

_NONE = r" *[:=] *(?:0|[Nn]one|null|false)\b"
_ALONE = r"(?<![\w./$-])"
"""Before a word that is not part of a name, a path or an option."""
_DOING = (
    r"(?!(?:handling|reporting|checking|logging|tracking)\b(?! (?:the|an?|request|message|event)\b))[a-z]{2,20}ing\b"
)
"""The activity during which a failure happened, such as "Error reading x"; "error handling" is a noun."""
_ERRORS: tuple[_Row, ...] = (
    (
        ("rror",),
        lazy_regex(
            r"^\W{0,8}(?:Un(?:caught|handled) )?(?:[\w.]{1,80}\.)?[A-Z]\w{0,60}Error\b(?! ?[(=])"
            r"(?: \[\w{1,60}\])?(?::| *$)"
            rf"|{_ALONE}(?<!\bif )(?<!\b[Nn]o )(?<!\bnot )(?<!\bof )[Ee]rror"
            r"(?:\[\w{1,12}\]| [A-Z]{1,6}\d{1,6}|\([^()]{0,40}\))?:(?! *(?:0|[Nn]one|null|false|\d+%)\b)"
            rf"|{_ALONE}Error(?:!| *$| (?:\d|{_DOING}|(?:in|at|on|while|when|during|from|response|occurred|code)\b))"
            r"|^(?:npm|yarn|pnpm|make|go|ld) error\b|^error\b(?![\w./=-])|\blevel=error\b|\[error\]"
            r'|"(?:level|severity)": ?"error"|(?<![\w./-])[1-9][\d,]{0,9} errors?\b'
            r"|\berrors? (?:occurred|found|generated|emitted|while|during|loading|reading|opening|parsing)\b"
            rf"(?!{_NONE})|\b[Bb]us error\b"
        ),
    ),
    (("ERR",), lazy_regex(rf"\bERR!|{_ALONE}ERRORS?(?![\w./-]|{_NONE})")),
    (("FAIL",), lazy_regex(rf"{_ALONE}FAIL(?:ED|URES?)?(?![\w./-]|{_NONE})")),
    (
        ("failed", "failure", "failing", "Failed", "Failure"),
        lazy_regex(
            r"(?<![\w./-])[Ff]ailed (?:to|with|at|in|on|due|because|for|while|during|assertion)\b"
            r"|(?<![\w./-])(?<!\b0 )(?<!\bno )(?<!\bnot )[Ff]ailed(?:!|\.? *$|:(?! *0\b))"
            r"|\b(?:[Bb]uild|[Cc]ompilation|[Tt]ests?|[Cc]heck|[Cc]ommand|[Ii]nstall(?:ation)?|[Jj]ob) [Ff]ailed\b"
            r"|\b[Aa]ssertion\b.{0,200}\bfailed\b|(?<![\w./-])[1-9][\d,]{0,9} (?:failed|failures?|failing)\b"
            r"|\b[Ff]ailure: (?! *0\b)"
        ),
    ),
    (("(most recent call last",), lazy_regex(r"\bTraceback \(most recent call last\)")),
    (
        ("xception",),
        lazy_regex(
            r"^\W{0,8}(?:[\w.]{1,80}\.)?[A-Z]\w{0,60}Exception\b(?! ?[(=])(?::| *$)|\b[Ee]xception(?: in |: )"
            r"|\b[Uu]n(?:handled|caught) exception\b"
        ),
    ),
    (("handled promise",), lazy_regex(r"\b[Uu]nhandled promise\b")),
    (("panic",), lazy_regex(r"\bpanicked at\b|\bpanic(?:: |\()|\blevel=panic\b")),
    (
        ("fatal", "Fatal"),
        lazy_regex(r"(?<![\w./-])[Ff]atal(?::| error\b| signal\b| exception\b)|\blevel=fatal\b|\"level\": ?\"fatal\""),
    ),
    (
        ("FATAL", "PANIC", "CRITICAL", "SEVERE", "ABORTED"),
        lazy_regex(rf"{_ALONE}(?:FATAL|PANIC|CRITICAL|SEVERE|ABORTED)(?![\w./-]|{_NONE})"),
    ),
    (("E  ", "E: "), lazy_regex(r"^E {2,}\S|^E: ")),
    (("not ok ",), lazy_regex(r"^\s{0,12}not ok \d")),
    (("KeyboardInterrupt", "SystemExit"), lazy_regex(r"^(?:KeyboardInterrupt|SystemExit)\b")),
    (("Caused by:",), lazy_regex(r"^\s{0,8}Caused by:")),
    (("undefined ",), lazy_regex(r"\bundefined (?:reference|symbol)\b")),
    (("cannot find -l",), lazy_regex(r"\bcannot find -l")),
    (("egmentation fault",), lazy_regex(r"\b[Ss]egmentation fault\b")),
    (("segfault",), lazy_regex(r"\bsegfault\b")),
    (("core dumped",), lazy_regex(r"\bcore dumped\b")),
    (
        ("Killed", "Aborted"),
        lazy_regex(
            r"(?:^|\] )(?:Killed|Aborted)(?: \(core dumped\))?\s*$|\bKilled process \d"
            r"|^[^:\n]{1,80}: line \d{1,9}: {1,8}\d{1,9} (?:Killed|Aborted)\b"
        ),
    ),
    (("terminate called",), lazy_regex(r"^terminate called (?:after|without|recursively)\b")),
    ((" [running]:",), lazy_regex(r"^goroutine \d{1,9} \[running\]:")),
    (("ut of memory",), lazy_regex(r"\b[Oo]ut of memory\b")),
    (("permission denied", "Permission denied"), lazy_regex(r"\b[Pp]ermission denied\b")),
    (("o such file or directory",), lazy_regex(r"\b[Nn]o such file or directory\b")),
    (("command not found",), lazy_regex(r"\bcommand not found\b")),
    (("o space left on device",), lazy_regex(r"\b[Nn]o space left on device\b")),
    (("onnection refused",), lazy_regex(r"\b[Cc]onnection refused\b")),
    *(((mark,), lazy_regex(rf"^\s{{0,12}}{mark} ")) for mark in "✗✖✘❌✕×"),
    (("● ",), lazy_regex(r"^\s{0,12}● .{1,200} › ")),
)
"""Substrings, at least one of which such a line contains, and the pattern of a line that reports a failure."""
_WARNINGS: tuple[_Row, ...] = (
    (
        ("arn", "WARN", "eprecated", "W: "),
        lazy_regex(
            rf"{_ALONE}(?:WARN(?:ING)?S?|Warnings?:|warning(?:\[[\w-]{{1,40}}\])?:|warn\b)(?! *[:=] *0\b|[./]\w)"
            r"|\b\w{1,60}Warning:|^W: |\blevel=warn|[Dd]eprecated"
        ),
    ),
)
_PASSED = lazy_regex(r" (?:PASSED|SKIPPED|XFAIL)\b(?:\s+\[\s*\d+%\])?\s*$|\.\.\. ok\s*$")
"""Matches a line that reports success, whatever its name contains."""
_NO_ERRORS = lazy_regex(
    r"(?<![\w./-])(?:0|no|without|zero) (?:errors?|failures?|failed)\b"
    r"(?!.*(?<![\w./-])[1-9][\d,]* (?:errors?|failures?|failed))"
)
"""Matches "no errors"; after a complaint ("Error: expected no errors, got 3") it is part of that complaint."""


def is_error(line: str) -> bool:
    """Return true if the line reports a failure."""
    return _reports_failure(line[:MAX_LINE_CHARS], _ERRORS)


def is_notable(line: str) -> bool:
    """Return true if the line reports a failure or a warning."""
    return _reports_failure(line[:MAX_LINE_CHARS], _NOTABLE)


def _reports_failure(line: str, rows: tuple[_Row, ...]) -> bool:
    for some, pattern in rows:
        for letters in some:
            if letters in line:
                if (found := pattern.search(line)) and not _is_false_alarm(line, found.start()):
                    return True
                break
    return False


def _is_false_alarm(line: str, place: int) -> bool:
    """Return true if the match at `place` only looks like a complaint."""
    none = _NO_ERRORS.search(line)
    return (none is not None and none.start() <= place) or _PASSED.search(line) is not None


_NOTABLE = (*_ERRORS, *_WARNINGS)
_Searched: TypeAlias = "tuple[tuple[Find, tuple[_Row, ...]], ...]"


def _compile_rows(rows: tuple[_Row, ...]) -> _Searched:
    """Return string finders for the substrings of the rows, each with the rows that it stands for."""
    return tuple(
        (finder.find, tuple(row for row in rows if not set(row[0]).isdisjoint(finder.words)))
        for finder in word_finders(letters for some, _ in rows for letters in some)
    )


_FOR_ERRORS, _FOR_NOTABLE = _compile_rows(_ERRORS), _compile_rows(_NOTABLE)


@frozen
class ErrorLine:
    """A line that reports a failure."""

    number: int
    """Line number, from 1."""
    text: str


def error_lines(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, str]]:
    """Yield the offset and the text of each line that reports a failure, in order.

    Lines cut by `start` or `end` are matched by the part that is left.
    """
    end = len(text) if end is None else end
    if end - start > 2 * SEARCHED_CHARS:
        first = text.rfind("\n", start, start + SEARCHED_CHARS) + 1 or start + SEARCHED_CHARS
        last = text.find("\n", end - SEARCHED_CHARS, end) + 1 or end - SEARCHED_CHARS
        yield from _search(text, start, first)
        start = last
    yield from _search(text, start, end)


def notable_lines(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the offset of each line of a short text that reports a failure or a warning."""
    return (begin for begin, _ in _search(text, start, end, _FOR_NOTABLE))


def _search(text: str, start: int, end: int, searched: _Searched = _FOR_ERRORS) -> Iterator[tuple[int, str]]:
    nexts = [[place, number] for number, (find, _) in enumerate(searched) if (place := find(text, start, end)) >= 0]
    heapify(nexts)
    done = start
    while nexts:
        place, number = nexts[0]
        find, rows = searched[number]
        after = done
        if place >= done:
            begin = max(start, text.rfind("\n", start, place) + 1)
            after = text.find("\n", place, end)
            after = end if after < 0 else after
            if _reports_failure(line := text[begin : min(after, begin + MAX_LINE_CHARS)], rows):
                yield begin, line
                done = after
        if (found := find(text, after, end)) >= 0:
            heapreplace(nexts, [found, number])
        else:
            heappop(nexts)


def first_and_last(found: list[T], most: int) -> list[T]:
    """Return the first and the last items: what went wrong first, and what it led to."""
    if len(found) <= most:
        return found
    last = most // 3
    return found[: most - last] + found[len(found) - last :]


class ErrorScanner:
    """Collect the error lines of a stream that is too long to hold in memory, fed in pieces. Memory use is constant."""

    __slots__ = ("_first", "_last", "_most", "_rest", "lines", "total")

    def __init__(self, most: int = 5) -> None:
        self._most = most
        self._first: list[ErrorLine] = []
        self._last: list[ErrorLine] = []
        self._rest = b""
        self.lines = 0
        """Newlines so far."""
        self.total = 0
        """Error lines so far."""

    def feed(self, data: bytes) -> None:
        """Search the next piece of the stream. An incomplete last line is kept for the next call."""
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._rest = (self._rest + data)[: 4 * MAX_LINE_CHARS]
            return
        self._look(self._rest + whole + newline)
        self._rest = rest[: 4 * MAX_LINE_CHARS]

    def _look(self, data: bytes) -> None:
        text = strip_invisible(decode(data))
        counted, place = self.lines, 0
        for begin, line in _search(text, 0, len(text)):
            counted += count_newlines(text, place, begin)
            place = begin
            cut = "…" if len(line) == MAX_LINE_CHARS else ""
            shown = render(line.replace(HELD_NEWLINE, "")).text.replace(
                "\n", " "
            )  # the line may have moved the cursor up or down
            self._keep(ErrorLine(counted + count_newlines(line) + 1, shown + cut))
        self.lines += data.count(b"\n")

    def _keep(self, found: ErrorLine) -> None:
        self.total += 1
        if len(self._first) < self._most:
            self._first.append(found)
        else:
            self._last = [*self._last, found][-self._most :]

    def error_lines(self) -> tuple[ErrorLine, ...]:
        """Return a few of them, numbered by line in the data that was fed."""
        if self._rest:
            self._look(self._rest)
            self._rest = b""
        return tuple(first_and_last([*self._first, *self._last], self._most))


def excerpt(line: str, most: int = 200) -> str:
    """Return the stripped line, cut to `most` characters."""
    line = line.strip()
    return line if len(line) <= most else line[: last_cut_before(line, most)] + "…"
