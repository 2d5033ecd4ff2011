"""Text as far as it is known before it runs.

A `str` in which a few characters that no text may contain (Unicode's noncharacters) stand for what is not known, for
what is known only by where it comes from, and for globs: a quoted `*` is a character, an unquoted one is `STAR`.

Most texts are ASCII, which a `str` knows of itself at once: such a text has none of these characters.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nacre.base.lazy_regex import later

UNKNOWN = "\ufdd0"
"""Any text, perhaps none: `$X`."""
SOME = "\ufdd1"
"""Any text but none: `${X:?}`, `$(mktemp)`."""
DOWNLOADED = "\ufdd2"
"""What came over the network."""
DECODED = "\ufdd3"
"""What came out of base64 and its like."""
PARENT = "\ufdd4"
"""The process id of whoever runs the shell: `$PPID`."""
SELF = "\ufdd5"
"""The shell's own: `$$`."""
STAR, QUESTION, BRACKET = "\ufdd6", "\ufdd7", "\ufdd8"
BELOW = STAR * 3
"""At the end of a path: all that `find` finds there, in whatever depth. Nobody writes such a glob."""
LOST = "\ufdd9"
"""A text that was known, and too long to be kept."""

KEYED = "\0"
_HOLES = later(f"[{UNKNOWN}-{SELF}{LOST}]")
_EMPTY = later(f"[{UNKNOWN}{DOWNLOADED}{DECODED}]+")
_RUN = later(f"[{STAR}{QUESTION}]+")
_GLOBS = later(f"[{STAR}-{BRACKET}]")
_MOST_HOLES = 64
_MARKS = later("[\ufdd0-\ufdef]")
_SET = later(rf"([!^]?)(\]?(?:[\[{BRACKET}]([:.=])[^\]]*\3\]|[^\]])*)\]", re.DOTALL)
"""What follows the bracket that opens a set of characters; the first character of it may be `]`."""
_FOREIGN = later("[\ufdd0-\ufdef\ud800-\udc7f\udd00-\udfff]")
_EXTENDED = later(r"[!*+?]\([^()]*\)")
_TO_GLOBS = str.maketrans({"*": STAR, "?": QUESTION, "[": BRACKET})
_TO_SOURCE = str.maketrans({STAR: "*", QUESTION: "?", BRACKET: "["})
_TO_PAPER = str.maketrans(
    {
        STAR: "*",
        QUESTION: "?",
        BRACKET: "[",
        UNKNOWN: "…",
        SOME: "…",
        LOST: "…",
        DOWNLOADED: "…",
        DECODED: "…",
        PARENT: "$PPID",
        SELF: "$$",
    }
)


def clean(text: str) -> str:
    """A text from outside, without our marks, and without what no bytes can stand for."""
    return text if text.isascii() else _FOREIGN.sub("\ufffd", text)


def whole(text: str) -> bool:
    """Every character of it is known; it may hold globs."""
    return text.isascii() or _HOLES.search(text) is None


def plain(text: str) -> bool:
    """Every character of it is known and stands for itself."""
    return text.isascii() or _MARKS.search(text) is None


def has_glob(text: str) -> bool:
    return not text.isascii() and _GLOBS.search(text) is not None


def globbed(text: str) -> str:
    """Unquoted text: its globs are globs."""
    if "(" in text:
        text = _EXTENDED.sub(STAR, text)
    if "*" in text or "?" in text or ("[" in text and "]" in text):
        return text.translate(_TO_GLOBS)
    return text


def source(text: str) -> str:
    """As bash would be given it to read again."""
    return text if text.isascii() else text.translate(_TO_SOURCE)


def shown(text: str) -> str:
    """For a reader."""
    return text if text.isascii() else text.replace(BELOW, "**").translate(_TO_PAPER)


def least(text: str) -> str:
    """With as little in the holes as there can be: what `"$X"/*` is when X is empty."""
    return text if text.isascii() else text.replace(UNKNOWN, "").replace(DOWNLOADED, "").replace(DECODED, "")


def origin(text: str) -> str:
    """What is left of a text of which nothing is known but where it comes from."""
    return DOWNLOADED if DOWNLOADED in text else DECODED if DECODED in text else UNKNOWN


def emptied(text: str) -> list[str]:
    """What a text is when one of its unknowns is empty, each in turn; itself, if it has none."""
    holes = [] if text.isascii() else [found.span() for found in _EMPTY.finditer(text)]
    if len(holes) < 2:
        return [least(text)]
    found = [_EMPTY.sub(SOME, text[:start]) + _EMPTY.sub(SOME, text[end:]) for start, end in holes[:_MOST_HOLES]]
    return found if len(holes) <= _MOST_HOLES else [*found, least(text)]


def pattern(text: str) -> str:
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
            out.append(_set(found[1] != "", source(found[2])))
            position = found.end()
        elif character in (UNKNOWN, SOME, DOWNLOADED, DECODED, LOST):
            out.append(".*")
        else:
            out.append(re.escape(character))
    return "".join(out)


def _set(negated: bool, inside: str) -> str:
    """`[…]` of a glob. One that we do not take apart may be any character."""
    if _HOLES.search(inside) or re.search(r"\[[:.=]", inside):
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


def could_be(text: str, name: str) -> bool:
    """Whether a command word, possibly a glob such as `/bin/r?`, may name this; `*` names nothing in particular."""
    if text == name:
        return True
    glob = _glob(text)
    return glob is not None and glob.fullmatch(name) is not None


@lru_cache(256)
def _glob(text: str) -> re.Pattern[str] | None:
    if not has_glob(text) or not whole(text) or (STAR in text and not re.search(r"\w", text)):
        return None
    return re.compile(pattern(text), re.DOTALL)


LONGEST = 200_000


def bounded(text: str) -> str:
    """Of a text too long to keep, only where it comes from. Whoever would read it, or take words from it, gives up."""
    if len(text) <= LONGEST:
        return text
    return LOST + (DOWNLOADED if DOWNLOADED in text else DECODED if DECODED in text else "")
