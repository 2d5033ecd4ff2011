"""Render text written for a terminal as a person would finally see it. Pure.

Colours, titles, hyperlinks, clipboard access, images and other sequences are removed; carriage returns, backspaces,
erasures and cursor movements are applied (`screen`). A sequence that is unterminated or cut off hides no more than its
own line. The one-character forms of escape sequences (C1) are dropped, not interpreted: in UTF-8 they are more likely
traces of a wrong encoding, and must not swallow text. A newline returns to the first column, as on a terminal in its
default mode.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

from nacre.ansi.decode import NUL, clean
from nacre.ansi.screen import Screen
from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex

INVISIBLE = lazy_regex(
    r"\x1b(?:\[[\d;:]*m|(?!\[\d*[A-HJK])(?:"  # colours are most frequent, then sequences that are not handled here
    r"\[(?!\?(?:1049|1047|47)[hl])[<=>?][\d;:]*[ -/]*[@-~]"
    r"|\][^\x07\x18\x1a\x1b\n]*(?:[\x07\x18\x1a]|\x1b\\)?"
    r"|[PX^_](?:[^\x18\x1a\x1b]*(?:[\x18\x1a]|\x1b\\)|[^\x18\x1a\x1b\n]*)"
    r"|[ #%)(+*\-./][ -~]"
    r"|[=>NOZ\\|}~]"
    r"|(?:\[[0-?]*[ -/]*|[ #%)(+*\-./])?(?=\x1b)"
    r"))"
)
"""Sequences that move nothing and write nothing, and those that another one interrupts."""
_TOKEN = lazy_regex(
    r"[^\x00-\x08\x0b-\x1f\x7f-\x9f]+"
    r"|\x1b(?:\[[01]?G\x1b\[[02]?K|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-~]?)"
    r"|\r(?:\x1b\[[02]?K)?"
    r"|[\x00-\x1f\x7f-\x9f]"
)
"""Text, a sequence or its beginning, or a control character: every character matches. Moving to the first column and
erasing the line is the most frequent combination, in progress bars, and is one token."""
_VERTICAL = lazy_regex(r"[\v\f]|\x1b(?:\[[0-?]*[ABEFHJLMSTdfhlrsu]|[78MDEc])")
_CLEARS = ("\r\x1b[K", "\r\x1b[2K", "\x1b[2K\r", "\x1b[1G\x1b[0K", "\x1b[1G\x1b[K", "\x1b[0G\x1b[K", "\x1b[2K\x1b[1G")
"""After any of these, the earlier content of the row does not matter."""
_SHORTEN_ABOVE_CHARS = 80
HELD_NEWLINE = "\0"
"""Replaces a newline within a removed sequence, so that lines can be counted; no other NUL is left by then."""
_Action: TypeAlias = "tuple[Callable[..., None], tuple[int, ...]] | None"
_MAX_SEQUENCE_CHARS = 32
"""Maximum length of a sequence that is interpreted, in characters."""


@frozen
class Rendered:
    """The rendered text and its mapping to lines of the input."""

    text: str
    numbers: tuple[int, ...] | None = None
    """For each line of `text`, the line of the input that wrote it, from 0; None if they are equal."""
    erased: int = 0
    """Number of lines that were erased when the screen was cleared."""


def strip_invisible(text: str) -> str:
    """Remove colours and other sequences without a visible effect. Newlines within them (an image has some) become
    `HELD_NEWLINE`."""
    if "\0" in text:
        text = text.replace("\0", NUL)
    if "\x1b" not in text:
        return text
    left = INVISIBLE.sub("", text)
    if left.count("\n") == text.count("\n"):
        return left
    return INVISIBLE.sub(lambda found: HELD_NEWLINE * found[0].count("\n"), text)


def count_newlines(text: str, start: int = 0, end: int | None = None) -> int:
    """Count the newlines of the original text in a text returned by `strip_invisible`."""
    end = len(text) if end is None else end
    return text.count("\n", start, end) + text.count(HELD_NEWLINE, start, end)


def render(text: str) -> Rendered:
    """Return the text that remains on the screen, and the input line of each of its lines."""
    text = strip_invisible(text)
    if "\r" in text:  # replaced twice: a program may write "\r\n" and the terminal adds another "\r"
        text = text.replace("\r\n", "\n").replace("\r\n", "\n")
    held = HELD_NEWLINE in text
    if not any(char in text for char in "\x1b\r\b\v\f"):
        return Rendered(clean(text.replace(HELD_NEWLINE, "")), _numbers(text)) if held else Rendered(clean(text))
    screen = Screen()
    numbers = _numbers(text) if held else range(text.count("\n") + 1)
    first, *lines = text.replace(HELD_NEWLINE, "").split("\n")
    screen.number = numbers[0]
    _feed(screen, first)
    for number, line in zip(numbers[1:], lines, strict=True):
        screen.number = number
        if line.isprintable():
            screen.line(line)
        else:
            screen.newline()
            _feed(screen, line)
    rows, origins = screen.result()
    return Rendered(clean("\n".join(rows)), tuple(origins), screen.erased)


def _numbers(text: str) -> tuple[int, ...]:
    """Return, for each line of a text from `strip_invisible`, the line of the input at which it ends."""
    ends = accumulate(line.count(HELD_NEWLINE) + 1 for line in text.split("\n"))
    return tuple([end - 1 for end in ends])


def _feed(screen: Screen, line: str) -> None:
    if len(line) > _SHORTEN_ABOVE_CHARS and _VERTICAL.search(line) is None:
        line = _visible_end(screen, line)
    for token in _TOKEN.findall(line):
        first = token[0]
        if first == "\x1b":
            if len(token) <= _MAX_SEQUENCE_CHARS and (action := _action(token)):
                action[0](screen, *action[1])
        elif first == "\r":
            if len(token) == 1:
                screen.carriage_return()
            else:
                screen.clear_row()
        elif first == "\b":
            screen.back()
        elif first == "\v" or first == "\f":
            screen.newline()
        elif first >= " " or first == "\t":
            screen.write(token)


def _visible_end(screen: Screen, line: str) -> str:
    """Return the end of a line without vertical movement: everything before it was erased or overwritten."""
    if "\x1b" in line:
        last = max([line.rfind(clear) for clear in _CLEARS])
        if last >= 0:
            screen.clear_row()
            line = line[last:]  # the sequence is still there and clears once more
    if "\x1b" in line or "\b" in line or not line.isascii():
        return line
    kept: list[str] = []
    length = -1
    for part in reversed(line.split("\r")):
        if len(part) > length:
            kept.append(part)
            length = len(part)
    return "\r".join(reversed(kept))


@lru_cache(maxsize=1024)
def _action(sequence: str) -> _Action:
    """Return the screen method for a sequence; None if it has no effect or is unterminated."""
    final = sequence[-1]
    if "\x1b" in sequence[1:]:
        return Screen.clear_row, ()
    if sequence[1:2] != "[":
        return _ESCAPES.get(sequence[1:])
    arguments = sequence[2:-1]
    if arguments.startswith("?"):
        return Screen.alternate, (final == "h",)  # all other private modes were removed as invisible
    if not final.isalpha() and final not in "@`":
        return None
    try:
        numbers = [min(int(each or 0), _MAX_PARAMETER) for each in arguments.split(";", 2)[:2]]
    except ValueError:
        return None  # too many digits, or a private syntax
    first, second = numbers[0], numbers[1] if len(numbers) > 1 else 0
    count = max(first, 1)
    match final:
        case "K":
            return Screen.erase_in_line, (first,)
        case "J":
            return Screen.erase_in_display, (first,)
        case "H" | "f":
            return Screen.to, (count - 1, max(second, 1) - 1)
        case "r":
            return Screen.region, (second,)
        case "A" | "F":
            return Screen.vertical if final == "A" else Screen.first_of, (-count,)
        case "G" | "`" | "d":
            return Screen.to_row if final == "d" else Screen.to_column, (count - 1,)
        case "s" | "u":
            return Screen.save if final == "s" else Screen.restore, ()
    return (_COUNTED[final], (count,)) if final in _COUNTED else None


_MAX_PARAMETER = 99_999
_ESCAPES: dict[str, _Action] = {
    "7": (Screen.save, ()),
    "8": (Screen.restore, ()),
    "M": (Screen.vertical, (-1,)),
    "D": (Screen.newline, ()),
    "E": (Screen.newline, ()),
    "c": (Screen.reset, ()),
}
_COUNTED: dict[str, Callable[[Screen, int], None]] = {
    "B": Screen.vertical,
    "e": Screen.vertical,
    "E": Screen.first_of,
    "C": Screen.right,
    "a": Screen.right,
    "D": Screen.back,
    "@": Screen.insert_characters,
    "P": Screen.delete_characters,
    "X": Screen.erase_characters,
    "b": Screen.repeat,
    "L": Screen.insert_rows,
    "M": Screen.delete_rows,
}
