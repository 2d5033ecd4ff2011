"""Guesses the kind of text that a command has printed, and which parts of a line to colour. Pure.

The guess is made from a few lines, and a wrong one is harmless: nothing is added, removed or moved. The patterns are
our own: a lexer for each kind would take longer to load than the command to run, and fails on text that was cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from nacre.base.lazy_regex import lazy_regex

ContentKind: TypeAlias = Literal["json", "diff", "traceback", "log", "xml", "yaml", "plain"]
Mark: TypeAlias = "tuple[int, int, str]"
"""Start, end, and the name of a style (`panels.style`)."""

_SAMPLE_LINES = 60
"""Lines examined."""
_MAX_LINE_CHARS = 2000
"""Part of a line that is examined."""

_DIFF = lazy_regex(r"diff --git |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_DIFF_HEADS = (("--- ", "+++ "), ("Index: ", "======"))
"""Beginnings of two consecutive lines."""
_TRACE = lazy_regex(r"Traceback \(most recent call last\):|\s*Exception Group Traceback |=+ (?:FAILURES|ERRORS) =+\Z")
_LEVELS = r"TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|PANIC"
_LOGGED = lazy_regex(
    rf"\[?(?:\d{{4}}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d)"
    rf"|\W{{0,3}}(?:{_LEVELS})\b|\S{{1,40}} (?:{_LEVELS})\b"
)
_XML = lazy_regex(r"<(?:\?xml\b|!DOCTYPE\b|!--|[A-Za-z][\w:.-]{0,60}(?:\s[^<>]{0,500})?/?>)", re.IGNORECASE)
_XML_END = lazy_regex(r"(?:</[\w:.-]{1,60}\s*>|/>|-->)\s*\Z")
_YAML = lazy_regex(r"\s*(?:- )*[\w./\"'-]{1,60}:(?: .*|)\Z|\s*- \S.*\Z|\s*#.*\Z|---\s*\Z|\s*\Z")
_YAML_KEY = lazy_regex(r"\s*(?:- )*[A-Za-z_][\w./\"'-]{0,60}:(?: .*|)\Z")
_YAML_INNER = lazy_regex(r"---\s*\Z|- \S|\s+(?:- )*[A-Za-z_][\w./\"'-]{0,60}:(?: |\Z)|[\w./\"'-]{1,60}:\Z")
"""Matches nesting, which prose and a table of `name: value` do not have."""


def kind_of(lines: Sequence[str]) -> ContentKind:
    """Guess the kind of the text."""
    sample = [line[:_MAX_LINE_CHARS] for line in lines[:_SAMPLE_LINES]]
    full = [line for line in sample if line.strip()]
    if not full:
        return "plain"
    if any(map(_DIFF.match, full)) or any(
        a.startswith(first) and b.startswith(second) for a, b in pairwise(full) for first, second in _DIFF_HEADS
    ):
        return "diff"
    if any(map(_TRACE.match, (line[:_MAX_LINE_CHARS] for line in lines))):
        return "traceback"
    if full[0].lstrip()[:1] in ("{", "[") and _is_json(lines, full):
        return "json"
    if _XML.match(full[0].lstrip()) and any(map(_XML_END.search, full)):
        return "xml"
    if len(full) > 1 and sum(map(bool, map(_LOGGED.match, full))) * 2 >= len(full):
        return "log"
    if len(full) > 2 and all(map(_YAML.match, sample)) and any(map(_YAML_INNER.match, full)):
        return "yaml" if sum(map(bool, map(_YAML_KEY.match, full))) * 2 >= len(full) else "plain"
    return "plain"


def _is_json(lines: Sequence[str], full: list[str]) -> bool:
    try:
        json.loads("\n".join(lines))
        return True
    except (ValueError, RecursionError):
        pass
    try:
        return all(isinstance(json.loads(line), dict | list) for line in full[:5])
    except (ValueError, RecursionError):  # perhaps the beginning of a JSON value
        return len(full) > 2 and any(re.match(r'\s*"(?:[^"\\]|\\.)*"\s*[:,]', line) for line in full[1:4])


def highlights(kind: ContentKind, line: str) -> Iterator[Mark]:
    """Yield the parts of a line to colour."""
    line = line[:_MAX_LINE_CHARS]
    if kind == "diff":
        yield from _diff(line)
        return
    if kind == "json":
        yield from _json(line)
        return
    for pattern in _PATTERNS[kind]:
        for found in pattern.finditer(line):
            for name in found.re.groupindex:
                if found[name] is not None:
                    yield (*found.span(name), _STYLES.get(name, name))


def _diff(line: str) -> Iterator[Mark]:
    for start, style in _DIFF_LINES:
        if line.startswith(start):
            yield 0, len(line), style
            return


def _json(line: str) -> Iterator[Mark]:
    """Yield the parts of a line of JSON. A string without a closing quote extends to the end of the line, so that every
    character is scanned once, whatever the line contains."""
    for found in _JSON.finditer(line):
        if found["value"] is not None:
            yield (*found.span("value"), "value")
        elif found["end"]:
            yield (*found.span("text"), "key" if found["colon"] else "text")


_DIFF_LINES = (
    ("diff --git", "strong"), ("index ", "faint"), ("--- ", "strong"), ("+++ ", "strong"), ("@@", "value"),
    ("+", "good"), ("-", "bad"),
)  # fmt: skip
_STYLES = {"worse": "bad"}
_JSON = lazy_regex(
    r'(?P<text>"(?:[^"\\]|\\.?)*(?P<end>"|\Z))(?P<colon>\s*:)?|(?P<value>-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b)',
    re.DOTALL,
)
_PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    "plain": (),
    "traceback": (
        lazy_regex(r"\A\s*(?P<strong>Traceback \(most recent call last\):)"),
        lazy_regex(r'\A\s*File (?P<text>"[^"]*"), line (?P<value>\d+)(?:, in (?P<strong>.*))?'),
        lazy_regex(r"\A(?P<bad>(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Group)\b.*)"),
        lazy_regex(r"\A(?P<bad>E   .*)"),
        lazy_regex(r"\A(?P<worse>FAILED|ERROR)\b|\b(?P<bad>\d+ failed)\b|\b(?P<good>\d+ passed)\b"),
        lazy_regex(r"\A\s*(?P<faint>[~^]+)\s*\Z"),
    ),
    "log": (
        lazy_regex(r"\A\W?(?P<faint>[\d\-/:., TZ+]{8,35}|[A-Z][a-z]{2} [ \d]\d [\d:]{8})"),
        lazy_regex(r"\b(?P<bad>ERROR|FATAL|CRITICAL|PANIC)\b|\b(?P<odd>WARN(?:ING)?)\b"),
        lazy_regex(r"\b(?P<good>INFO|NOTICE)\b|\b(?P<faint>DEBUG|TRACE)\b"),
    ),
    "xml": (
        lazy_regex(r"(?P<faint><!--.*?(?:-->|\Z))"),
        lazy_regex(r"(?P<key></?[\w:.-]+|/?>|<[?!][\w-]+|\?>)"),
        lazy_regex(r"""\s(?P<value>[\w:.-]+)=(?P<text>"[^"]*"|'[^']*')"""),
    ),
    "yaml": (
        lazy_regex(r"(?:\A|\s)(?P<faint>#.*)"),
        lazy_regex(r"\A\s*(?:- )*(?P<key>[\w./\"'-]+):(?=\s|\Z)"),
        lazy_regex(r"""[:-] (?P<text>"[^"]*"|'[^']*')|[:-] (?P<value>-?\d[\d._]*|true|false|null|yes|no|~)\s*\Z"""),
    ),
}
