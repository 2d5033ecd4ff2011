"""Text as far as it is known before it runs.

A `str` in which noncharacters of Unicode, which no input may contain, are markers. They stand for unknown text, for
text of which only the origin is known, and for globs: a quoted `*` is a plain character, an unquoted one is `STAR`.

Most texts are ASCII, and `str.isascii()` takes constant time: such a text has no markers.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nacre.base.lazy_regex import lazy_regex

UNKNOWN = "\ufdd0"
"""Any text, possibly empty: `$X`."""
UNKNOWN_NONEMPTY = "\ufdd1"
"""Any text that is not empty: `${X:?}`, `$(mktemp)`."""
DOWNLOADED = "\ufdd2"
"""Text that was downloaded."""
DECODED = "\ufdd3"
"""Output of a decoder such as base64."""
PARENT_PID = "\ufdd4"
"""PID of the shell's parent process: `$PPID`."""
SHELL_PID = "\ufdd5"
"""PID of the shell: `$$`."""
STAR, QUESTION, BRACKET = "\ufdd6", "\ufdd7", "\ufdd8"
ALL_FOUND = STAR * 3
"""At the end of a path: everything that `find` finds there, at any depth. Scripts do not contain such a glob."""
TOO_LONG = "\ufdd9"
"""A known text that was too long to keep."""

KEYED = "\0"
_UNKNOWNS = lazy_regex(f"[{UNKNOWN}-{SHELL_PID}{TOO_LONG}]")
_EMPTY = lazy_regex(f"[{UNKNOWN}{DOWNLOADED}{DECODED}]+")
_RUN = lazy_regex(f"[{STAR}{QUESTION}]+")
_GLOBS = lazy_regex(f"[{STAR}-{BRACKET}]")
_MAX_UNKNOWNS = 64
_MARKS = lazy_regex("[\ufdd0-\ufdef]")
_SET = lazy_regex(rf"([!^]?)(\]?(?:[\[{BRACKET}]([:.=])[^\]]*\3\]|[^\]])*)\]", re.DOTALL)
"""Matches the rest of a bracket expression after its `[`; the first character of the set may be `]`."""
_FOREIGN = lazy_regex("[\ufdd0-\ufdef\ud800-\udc7f\udd00-\udfff]")
_EXTENDED = lazy_regex(r"[!*+?]\([^()]*\)")
_TO_GLOBS = str.maketrans({"*": STAR, "?": QUESTION, "[": BRACKET})
_TO_SOURCE = str.maketrans({STAR: "*", QUESTION: "?", BRACKET: "["})
_TO_DISPLAY = str.maketrans(
    {
        STAR: "*",
        QUESTION: "?",
        BRACKET: "[",
        UNKNOWN: "…",
        UNKNOWN_NONEMPTY: "…",
        TOO_LONG: "…",
        DOWNLOADED: "…",
        DECODED: "…",
        PARENT_PID: "$PPID",
        SHELL_PID: "$$",
    }
)


def remove_markers(text: str) -> str:
    """Return text from outside with markers, and surrogates that stand for no byte, replaced by U+FFFD."""
    return text if text.isascii() else _FOREIGN.sub("\ufffd", text)


def is_fully_known(text: str) -> bool:
    """Tell whether every character is known; globs are allowed."""
    return text.isascii() or _UNKNOWNS.search(text) is None


def is_literal(text: str) -> bool:
    """Tell whether every character is known and stands for itself: no unknown text, no globs."""
    return text.isascii() or _MARKS.search(text) is None


def has_glob(text: str) -> bool:
    """Tell whether the text has glob markers."""
    return not text.isascii() and _GLOBS.search(text) is not None


def mark_globs(text: str) -> str:
    """Replace the globs of unquoted text by their markers; an extended glob such as `+(a)` becomes `STAR`."""
    if "(" in text:
        text = _EXTENDED.sub(STAR, text)
    if "*" in text or "?" in text or ("[" in text and "]" in text):
        return text.translate(_TO_GLOBS)
    return text


def to_source(text: str) -> str:
    """Return the text as bash would read it again: glob markers become glob characters."""
    return text if text.isascii() else text.translate(_TO_SOURCE)


def to_display(text: str) -> str:
    """Return the text for display: unknown parts become `…`."""
    return text if text.isascii() else text.replace(ALL_FOUND, "**").translate(_TO_DISPLAY)


def with_unknowns_empty(text: str) -> str:
    """Return the text with all parts that may be empty removed: `"$X"/*` becomes `/*`."""
    return text if text.isascii() else text.replace(UNKNOWN, "").replace(DOWNLOADED, "").replace(DECODED, "")


def origin_marker(text: str) -> str:
    """Return the marker for an unknown text with the same origin: downloaded, decoded, or unknown."""
    return DOWNLOADED if DOWNLOADED in text else DECODED if DECODED in text else UNKNOWN


def each_unknown_empty(text: str) -> list[str]:
    """Return a variant of the text for each unknown part, with this part empty and the others not.

    If there are more than `_MAX_UNKNOWNS` such parts, one variant with all of them empty stands for the rest.
    """
    holes = [] if text.isascii() else [found.span() for found in _EMPTY.finditer(text)]
    if len(holes) < 2:
        return [with_unknowns_empty(text)]
    found = [
        _EMPTY.sub(UNKNOWN_NONEMPTY, text[:start]) + _EMPTY.sub(UNKNOWN_NONEMPTY, text[end:])
        for start, end in holes[:_MAX_UNKNOWNS]
    ]
    return found if len(holes) <= _MAX_UNKNOWNS else [*found, with_unknowns_empty(text)]


def glob_to_regex(text: str) -> str:
    """Translate a text with glob markers to a regular expression."""
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character in (STAR, QUESTION):
            run = _RUN.match(text, position - 1)
            assert run is not None
            position = run.end()  # `*?*?*` becomes `??*`: consecutive stars would be tried in every combination
            out.append("." * run[0].count(QUESTION) + (".*" if STAR in run[0] else ""))
        elif character == BRACKET and (found := _SET.match(text, position)):
            out.append(_bracket_to_regex(found[1] != "", to_source(found[2])))
            position = found.end()
        elif character in (UNKNOWN, UNKNOWN_NONEMPTY, DOWNLOADED, DECODED, TOO_LONG):
            out.append(".*")
        else:
            out.append(re.escape(character))
    return "".join(out)


def _bracket_to_regex(negated: bool, inside: str) -> str:
    """Translate the inside of `[…]`. If it has unknown parts or character classes, match any character."""
    if _UNKNOWNS.search(inside) or re.search(r"\[[:.=]", inside):
        return "."
    out = []
    for low, high, single in re.findall(r"(.)-(.)|(.)", inside, re.DOTALL):
        if single:
            out.append(re.escape(single))
        elif low <= high:
            out.append(f"{re.escape(low)}-{re.escape(high)}")
    if not out:  # an empty range: `[z-a]`
        return "." if negated else r"(?!)"
    return f"[{'^' if negated else ''}{''.join(out)}]"


def may_equal(text: str, name: str) -> bool:
    """Tell whether a command word, possibly a glob such as `/bin/r?`, may stand for `name`; `*` alone never does."""
    if text == name:
        return True
    glob = _glob(text)
    return glob is not None and glob.fullmatch(name) is not None


@lru_cache(256)
def _glob(text: str) -> re.Pattern[str] | None:
    if not has_glob(text) or not is_fully_known(text) or (STAR in text and not re.search(r"\w", text)):
        return None
    return re.compile(glob_to_regex(text), re.DOTALL)


MAX_CHARS = 200_000


def cap_length(text: str) -> str:
    """Return the text; if it exceeds `MAX_CHARS`, only `TOO_LONG` and its origin. Readers of the text then give up."""
    if len(text) <= MAX_CHARS:
        return text
    return TOO_LONG + (DOWNLOADED if DOWNLOADED in text else DECODED if DECODED in text else "")
