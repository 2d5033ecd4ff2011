"""Text as far as it is known before it runs.

A `str` in which a few characters that no text may contain (Unicode's noncharacters) stand for what is not known, for
what is known only by where it comes from, and for globs: a quoted `*` is a character, an unquoted one is `STAR`.

Most texts are ASCII, which a `str` knows of itself at once: such a text has none of these characters.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nacre.base.lazy_regex import lazy_regex

UNKNOWN = "\ufdd0"
"""Any text, perhaps none: `$X`."""
UNKNOWN_NONEMPTY = "\ufdd1"
"""Any text but none: `${X:?}`, `$(mktemp)`."""
DOWNLOADED = "\ufdd2"
"""What came over the network."""
DECODED = "\ufdd3"
"""What came out of base64 and its like."""
PARENT_PID = "\ufdd4"
"""The process id of whoever runs the shell: `$PPID`."""
SHELL_PID = "\ufdd5"
"""The shell's own: `$$`."""
STAR, QUESTION, BRACKET = "\ufdd6", "\ufdd7", "\ufdd8"
ALL_FOUND = STAR * 3
"""At the end of a path: all that `find` finds there, in whatever depth. Nobody writes such a glob."""
TOO_LONG = "\ufdd9"
"""A text that was known, and too long to be kept."""

KEYED = "\0"
_UNKNOWNS = lazy_regex(f"[{UNKNOWN}-{SHELL_PID}{TOO_LONG}]")
_EMPTY = lazy_regex(f"[{UNKNOWN}{DOWNLOADED}{DECODED}]+")
_RUN = lazy_regex(f"[{STAR}{QUESTION}]+")
_GLOBS = lazy_regex(f"[{STAR}-{BRACKET}]")
_MAX_UNKNOWNS = 64
_MARKS = lazy_regex("[\ufdd0-\ufdef]")
_SET = lazy_regex(rf"([!^]?)(\]?(?:[\[{BRACKET}]([:.=])[^\]]*\3\]|[^\]])*)\]", re.DOTALL)
"""What follows the bracket that opens a set of characters; the first character of it may be `]`."""
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
    """A text from outside, without our marks, and without what no bytes can stand for."""
    return text if text.isascii() else _FOREIGN.sub("\ufffd", text)


def is_fully_known(text: str) -> bool:
    """Every character of it is known; it may hold globs."""
    return text.isascii() or _UNKNOWNS.search(text) is None


def is_literal(text: str) -> bool:
    """Every character of it is known and stands for itself."""
    return text.isascii() or _MARKS.search(text) is None


def has_glob(text: str) -> bool:
    return not text.isascii() and _GLOBS.search(text) is not None


def mark_globs(text: str) -> str:
    """Unquoted text: its globs are globs."""
    if "(" in text:
        text = _EXTENDED.sub(STAR, text)
    if "*" in text or "?" in text or ("[" in text and "]" in text):
        return text.translate(_TO_GLOBS)
    return text


def to_source(text: str) -> str:
    """As bash would be given it to read again."""
    return text if text.isascii() else text.translate(_TO_SOURCE)


def to_display(text: str) -> str:
    """For a reader."""
    return text if text.isascii() else text.replace(ALL_FOUND, "**").translate(_TO_DISPLAY)


def with_unknowns_empty(text: str) -> str:
    """With as little in the holes as there can be: what `"$X"/*` is when X is empty."""
    return text if text.isascii() else text.replace(UNKNOWN, "").replace(DOWNLOADED, "").replace(DECODED, "")


def origin_marker(text: str) -> str:
    """What is left of a text of which nothing is known but where it comes from."""
    return DOWNLOADED if DOWNLOADED in text else DECODED if DECODED in text else UNKNOWN


def each_unknown_empty(text: str) -> list[str]:
    """What a text is when one of its unknowns is empty, each in turn; itself, if it has none."""
    holes = [] if text.isascii() else [found.span() for found in _EMPTY.finditer(text)]
    if len(holes) < 2:
        return [with_unknowns_empty(text)]
    found = [
        _EMPTY.sub(UNKNOWN_NONEMPTY, text[:start]) + _EMPTY.sub(UNKNOWN_NONEMPTY, text[end:])
        for start, end in holes[:_MAX_UNKNOWNS]
    ]
    return found if len(holes) <= _MAX_UNKNOWNS else [*found, with_unknowns_empty(text)]


def glob_to_regex(text: str) -> str:
    """A glob as a regular expression."""
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character in (STAR, QUESTION):
            run = _RUN.match(text, position - 1)
            assert run is not None
            position = run.end()  # `*?*?*` as `??*`: stars in a row would be tried in every combination
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
    """`[…]` of a glob. One that we do not take apart may be any character."""
    if _UNKNOWNS.search(inside) or re.search(r"\[[:.=]", inside):
        return "."
    out = []
    for low, high, single in re.findall(r"(.)-(.)|(.)", inside, re.DOTALL):
        if single:
            out.append(re.escape(single))
        elif low <= high:
            out.append(f"{re.escape(low)}-{re.escape(high)}")
    if not out:  # `[z-a]`
        return "." if negated else r"(?!)"
    return f"[{'^' if negated else ''}{''.join(out)}]"


def may_equal(text: str, name: str) -> bool:
    """Whether a command word, possibly a glob such as `/bin/r?`, may name this; `*` names nothing in particular."""
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
    """Of a text too long to keep, only where it comes from. Whoever would read it, or take words from it, gives up."""
    if len(text) <= MAX_CHARS:
        return text
    return TOO_LONG + (DOWNLOADED if DOWNLOADED in text else DECODED if DECODED in text else "")
