"""Search output for a pattern while it is printed: chunks of any size go in, the first matching line comes out."""

from __future__ import annotations

import codecs
import re

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.errors import InvalidRequest

_MAX_PENDING_CHARS = 16 * 1024
"""Characters of an unfinished line that are kept; a longer match may be missed."""
_COLOURS = lazy_regex(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


@frozen
class Match:
    """Wait condition: the task has printed a line, finished or not, in which the regular expression is found. Colour
    codes are ignored."""

    pattern: str | re.Pattern[str]
    since: int = 0
    """Byte offset to search from, such as `Output.cursor`."""

    def compile_pattern(self) -> re.Pattern[str]:
        """Compile the pattern. InvalidRequest: not a valid regular expression for text."""
        try:
            compiled = re.compile(self.pattern)
            if not isinstance(compiled.pattern, str):
                raise TypeError("it is a bytes pattern, and lines are text")
            return compiled
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            raise InvalidRequest(
                "bad_pattern",
                f"`pattern` is not a valid regular expression: {error}.",
                field="pattern",
                hint="Use Python's syntax; re.escape() turns plain text into a pattern.",
            ) from error


class LineMatcher:
    """Incremental search for a pattern in the lines of a byte stream."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes, *, after_gap: bool = False) -> str | None:
        """Add output and return the first line that matches; None if none does yet. `after_gap`: bytes before `data`
        are missing."""
        if after_gap:
            self._decoder.reset()
            self._rest = ""
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            if (found := self._matching_line(line)) is not None:
                return found
        found = self._matching_line(self._rest) if self._rest else None
        self._rest = self._rest[-_MAX_PENDING_CHARS:]
        return found

    def _matching_line(self, line: str) -> str | None:
        line = line.removesuffix("\r")
        if self._pattern.search(line):
            return line
        if "\x1b" in line and self._pattern.search(plain := _COLOURS.sub("", line)):
            return plain
        return None
