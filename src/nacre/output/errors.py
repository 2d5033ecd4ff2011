"""Which lines tell of a failure. Pure.

Wary of words that only look like it: "0 errors", "error.log", "-Werror", "test_error_is_shown PASSED", "no failures",
`errors=None`, "Add error handling". A line that is missed is still in the spill; a line that is shown for nothing costs
tokens. `error_lines` first looks for a few letters of each word, at the speed of a search, and reads only those lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from nacre.frozen import frozen
from nacre.output.decode import decode
from nacre.output.terminal import bare, seen
from nacre.output.width import not_after
from nacre.patterns import later

if TYPE_CHECKING:
    from re import Pattern

T = TypeVar("T")

LONGEST = 1000
"""Characters of a line that are looked at."""
LOOKED_AT = 1024 * 1024
"""Characters that `error_lines` searches at each end of what it is given; between them it does not look."""

_NONE = r" *[:=] *(?:0|[Nn]one|null|false)\b"
_ERRORS: tuple[tuple[str, Pattern[str]], ...] = (
    (
        "rror",
        later(
            r"^\W{0,8}(?:[\w.]{1,80}\.)?[A-Z]\w{0,60}Error\b(?! ?[(=])(?::| *$)"
            r"|(?<![\w./$-])[Ee]rror(?:\[\w{1,12}\]| [A-Z]{1,6}\d{1,6}|\([^()]{0,40}\))?:"
            r"(?! *(?:0|[Nn]one|null|false|\d+%)\b)"
            rf"|(?<![\w./$-])Error(?![\w./-]|{_NONE})(?: \d| [a-z]|!|$)"
            r"|^(?:npm|yarn|pnpm|make|go|ld) error\b|^error\b(?![\w./=-])|\blevel=error\b"
            r'|"(?:level|severity)": ?"error"|(?<![\w./-])[1-9][\d,]{0,9} errors?\b'
            r"|\berrors? (?:occurred|found|generated|emitted|while|during|loading|reading|opening|parsing)\b"
            r"|\b[Bb]us error\b"
        ),
    ),
    ("ERR", later(rf"\bERR!|(?<![\w./$-])ERRORS?(?![\w./-]|{_NONE})")),
    ("FAIL", later(rf"(?<![\w./$-])FAIL(?:ED|URES?)?(?![\w./-]|{_NONE})")),
    (
        "ailed",
        later(
            r"(?<![\w./-])[Ff]ailed (?:to|with|at|in|on|due|because|for|while|during|assertion)\b"
            r"|(?<![\w./-])(?<!\b0 )(?<!\bno )(?<!\bnot )[Ff]ailed(?:!|\.? *$|:(?! *0\b))"
            r"|\b(?:[Bb]uild|[Cc]ompilation|[Tt]ests?|[Cc]heck|[Cc]ommand|[Ii]nstall(?:ation)?|[Jj]ob) [Ff]ailed\b"
            r"|\b[Aa]ssertion\b.{0,200}\bfailed\b|(?<![\w./-])[1-9][\d,]{0,9} failed\b"
        ),
    ),
    ("ailure", later(r"\b[Ff]ailure: |(?<![\w./-])[1-9][\d,]{0,9} failures?\b")),
    ("ailing", later(r"(?<![\w./-])[1-9][\d,]{0,9} failing\b")),
    ("raceback", later(r"\bTraceback \(most recent call last\)")),
    (
        "xception",
        later(
            r"^\W{0,8}(?:[\w.]{1,80}\.)?[A-Z]\w{0,60}Exception\b(?! ?[(=])(?::| *$)"
            r"|\b[Ee]xception(?: in |: )|\b[Uu]n(?:handled|caught) "
        ),
    ),
    ("panic", later(r"\bpanicked at\b|\bpanic(?:: |\()|\blevel=panic\b")),
    ("atal", later(r"(?<![\w./-])[Ff]atal(?::| error\b| signal\b| exception\b)|\blevel=fatal\b|\"level\": ?\"fatal\"")),
    ("undefined ", later(r"\bundefined (?:reference|symbol)\b")),
    ("egmentation", later(r"\b[Ss]egmentation fault\b")),
    ("E", later(r"^E {2,}\S|^E: |(?<![\w./$-])(?:SEVERE)\b")),
    ("A", later(rf"(?<![\w./$-])(?:FATAL|PANIC|CRITICAL|ABORTED)(?![\w./-]|{_NONE})")),
    ("not ok ", later(r"^not ok \d")),
    ("rupt", later(r"^KeyboardInterrupt\b")),
    ("Exit", later(r"^SystemExit\b")),
    ("Caused by", later(r"^Caused by:")),
    ("nhandled", later(r"\b[Uu]nhandled (?:promise|exception|rejection)\b")),
    ("unresolved", later(r"\bunresolved external\b")),
    ("segfault", later(r"\bsegfault\b")),
    ("core dumped", later(r"\bcore dumped\b")),
    ("of memory", later(r"\b[Oo]ut of memory\b")),
    ("ermission", later(r"\b[Pp]ermission denied\b")),
    ("o such file", later(r"\b[Nn]o such file or directory\b")),
    ("command not found", later(r"\bcommand not found\b")),
    ("cannot find -l", later(r"\bcannot find -l")),
    ("o space left", later(r"\b[Nn]o space left on device\b")),
    ("onnection refused", later(r"\b[Cc]onnection refused\b")),
    *((mark, later(rf"^\s{{0,12}}{mark} ")) for mark in "✗✖✘❌✕"),
)
"""A few letters, and how a line looks that has them and tells of a failure."""
_FINE = later(
    r"(?<![\w./-])(?:0|no|without|zero) (?:errors?|failures?|failed)\b"
    r"(?!.*(?<![\w./-])[1-9][\d,]* (?:errors?|failures?|failed))"
    r"| (?:PASSED|SKIPPED|XFAIL)\b(?:\s+\[\s*\d+%\])?\s*$|\.\.\. ok\s*$"
)
"""Says itself that nothing is wrong."""
_WARNING = later(
    r"(?<![\w./$-])(?:WARN(?:ING)?S?|Warnings?:|warning(?:\[[\w-]{1,40}\])?:|warn\b)(?! *[:=] *0\b|[./]\w)"
    r"|\b\w{1,60}Warning:|^W: |\blevel=warn|[Dd]eprecated"
)
_WARNINGS = ("arn", "WARN", "eprecated", "W: ")
_LETTERS = (
    "rror",
    "ERR",
    "FAIL",
    "ailed",
    "panic",
    "fatal",
    "raceback",
    "xception",
    "undefined ",
    "egmentation",
    "✗",
    "✖",
)
"""Those that are searched in long texts: each of them costs a search of everything."""
_MORE_LETTERS = (
    *(letters for letters, _ in _ERRORS if len(letters) > 1 and letters not in _LETTERS),
    *(
        "Fatal",
        "SEVERE",
        "FATAL",
        "PANIC",
        "CRITICAL",
        "ABORTED",
        "\nE",
        "✘",
        "❌",
        "✕",
        "arn",
        "WARN",
        "eprecated",
        "\nW:",
    ),
)


def is_error(line: str) -> bool:
    """It tells of a failure."""
    line = line[:LONGEST]
    for letters, pattern in _ERRORS:
        if letters in line and pattern.search(line):
            return _FINE.search(line) is None
    return False


def is_notable(line: str) -> bool:
    """It tells of a failure, or warns."""
    if is_error(line):
        return True
    line = line[:LONGEST]
    return any(letters in line for letters in _WARNINGS) and _WARNING.search(line) is not None


@frozen
class ErrorLine:
    number: int
    """Of the line, from 1."""
    text: str


def error_lines(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, str]]:
    """Where each line begins that tells of a failure, and its text, in order. Lines that are cut by `start` or `end`
    count with what is left of them."""
    end = len(text) if end is None else end
    if end - start > 2 * LOOKED_AT:
        first = text.rfind("\n", start, start + LOOKED_AT) + 1 or start + LOOKED_AT
        last = text.find("\n", end - LOOKED_AT, end) + 1 or end - LOOKED_AT
        yield from _search(text, start, first)
        start = last
    yield from _search(text, start, end)


def notable_lines(text: str, start: int, end: int) -> Iterator[int]:
    """Where each line of a short text begins that tells of a failure, or warns."""
    return (begin for begin, _ in _search(text, start, end, _LETTERS + _MORE_LETTERS, is_notable))


def _search(
    text: str,
    start: int,
    end: int,
    words: tuple[str, ...] = _LETTERS,
    counts: Callable[[str], bool] = is_error,
) -> Iterator[tuple[int, str]]:
    nexts = {letters: place for letters in words if (place := text.find(letters, start, end)) >= 0}
    if text.startswith(("E", "W:"), start):
        nexts["\nE"] = start  # no newline before it tells
    while nexts:
        place = min(nexts.values())
        begin = place + 1 if text[place] == "\n" else max(start, text.rfind("\n", start, place) + 1)
        stop = text.find("\n", max(begin, place + 1), end)
        stop = end if stop < 0 else stop
        if counts(line := text[begin : min(stop, begin + LONGEST)]):
            yield begin, line
        for letters, known in list(nexts.items()):
            if known < stop:
                if (found := text.find(letters, stop, end)) >= 0:
                    nexts[letters] = found
                else:
                    del nexts[letters]


def few(found: list[T], most: int) -> list[T]:
    """The first of them and the last: what went wrong first, and what it led to."""
    if len(found) <= most:
        return found
    last = most // 3
    return found[: most - last] + found[len(found) - last :]


class Scanner:
    """The error lines of a stream that is too long to be held, fed in pieces. Memory is flat."""

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
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._rest = (self._rest + data)[: 4 * LONGEST]
            return
        self._look(self._rest + whole + newline)
        self._rest = rest[: 4 * LONGEST]

    def _look(self, data: bytes) -> None:
        text = bare(decode(data))
        counted, place = self.lines, 0
        for begin, line in _search(text, 0, len(text)):
            counted += text.count("\n", place, begin)
            place = begin
            self._keep(ErrorLine(counted + 1, seen(line).text))
        self.lines += data.count(b"\n")

    def _keep(self, found: ErrorLine) -> None:
        self.total += 1
        if len(self._first) < self._most:
            self._first.append(found)
        else:
            self._last = [*self._last, found][-self._most :]

    def found(self) -> tuple[ErrorLine, ...]:
        """A few of them, with the numbers of their lines in what was fed."""
        if self._rest:
            self._look(self._rest)
            self._rest = b""
        return tuple(few([*self._first, *self._last], self._most))


def excerpt(line: str, most: int = 200) -> str:
    """So much of a line, or all of it."""
    line = line.strip()
    return line if len(line) <= most else line[: not_after(line, most)] + "…"
