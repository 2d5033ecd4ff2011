"""Looking for a pattern in output as it comes: pieces of any size in, the first line that matches out."""

from __future__ import annotations

import codecs
import re

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.errors import InvalidRequest

_MAX_PENDING_CHARS = 16 * 1024
"""Characters of an unfinished line that are kept; a match that is longer may be missed."""
_COLOURS = lazy_regex(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


@frozen
class Match:
    """It has printed a line in which this regular expression is found, finished or not, colours left out."""

    pattern: str | re.Pattern[str]
    since: int = 0
    """From this byte on; a `cursor`."""

    def compile_pattern(self) -> re.Pattern[str]:
        try:
            compiled = re.compile(self.pattern)
            if not isinstance(compiled.pattern, str):
                raise TypeError("it is for bytes, and lines are text")
            return compiled
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            raise InvalidRequest(
                "bad_pattern",
                f"`pattern` is no regular expression: {error}.",
                field="pattern",
                hint="Use Python's syntax; re.escape() makes a pattern of a plain text.",
            ) from error


class LineMatcher:
    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes, *, after_gap: bool = False) -> str | None:
        """The first line that matches, if there is one by now."""
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
