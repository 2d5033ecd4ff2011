"""Finds destructive statements in SQL and mongo code."""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex

_SKIPPED = lazy_regex(
    r"--[^\n]*|/\*!\d*|/\*.*?(?:\*/|\Z)"  # comments; MySQL executes the contents of /*! … */
    r"|^[ \t]*[\\.][^\n]*"  # the client's own commands
    r"|'(?:[^'\\]|\\.|'')*'?|\"(?:[^\"\\]|\\.|\"\")*\"?|`[^`]*`?",
    re.DOTALL | re.MULTILINE,
)
_DROPS = lazy_regex(r"\bDROP\s+(DATABASE|SCHEMA|KEYSPACE)\s+(?:IF\s+EXISTS\s+)?([^\s;]*)", re.IGNORECASE)
_MONGO = lazy_regex(r"dropDatabase\s*\(")


def destroys(sql: str) -> tuple[str, str] | None:
    """Return the first destructive statement and what it would lose; None if there is none."""
    for statement in _SKIPPED.sub(_strip_literal, sql).replace("\\G", ";").split(";"):
        if found := _DROPS.search(statement):
            kind = found[1].upper()
            return " ".join(("DROP", kind, found[2])), f"would delete the {kind.lower()} with all its data"
    return None


def destroys_in_mongo(code: str) -> tuple[str, str] | None:
    if found := _MONGO.search(code):
        return found[0].partition("(")[0].strip(". ") + "()", "would delete all the data in it"
    return None


def _strip_literal(found: re.Match[str]) -> str:
    """Empty a string literal, unquote a name, replace a comment by a space."""
    text = found[0]
    if text[0] == "'":
        return "''"
    return re.sub(r"\W", "_", text.strip(text[0])) if text[0] in '"`' else " "
