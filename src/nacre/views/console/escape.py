"""Escapes untrusted text for a terminal. Pure.

Escaped text breaks no line, contains no control sequence, and everything in it is visible.
"""

from __future__ import annotations

from nacre.ansi.width import columns, prefix_length
from nacre.base.lazy_regex import lazy_regex

_UNSEEN = lazy_regex(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python considers printable, but that are invisible."""
_ABOVE = ("Mn", "Me")
_MAX_ACCENTS = 2
"""Combining accents on one character; a stack of more reaches into other lines."""
_BLANKS = lazy_regex(" {9,}")
"""More spaces than anybody types: they push what follows out of sight."""
_AS_IT_IS = lazy_regex(
    "[\t\xa0\u2000-\u200a\u202f\u205f\u3000]+"
    "|(?<=[\xa9\xae\u203c-\u3299\ufe0f\U0001f000-\U0001faff])"
    "(?:[\ufe0e\ufe0f\u20e3]|\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff]))"
    "|(?<=[0-9#*])\ufe0f\u20e3?"
)
"""Kept as it is: whitespace of any width, and the characters that combine several emoji into one."""
_UNFINISHED = lazy_regex(r"(?:\x1b(?:\[[0-9;:]{0,64})?|\r)\Z")
_EMOJI = "[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]"
_IS_EMOJI = lazy_regex(_EMOJI)
_COMMANDS = lazy_regex(
    r"(\x1b\[[0-9;:]{0,64}m)"  # a colour (SGR)
    r"|\r(?!\n)"  # would overwrite what was written before
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\ud800-\udfff\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
    f"|(?<!{_EMOJI})\u200d"  # joins emoji; invisible elsewhere
)
_ASCII = str.maketrans(
    {
        "…": "...", "─": "-", "│": "|", "┆": ":", "├": "+", "└": "+", "╭": "+", "╮": "+", "╰": "+", "╯": "+",
        "⟨": "<", "⟩": ">", "←": "<-", "›": ">",
    }
)  # fmt: skip
"""Characters that nacre draws with, and their ASCII forms."""


def fit(text: str, width: int) -> str:
    """Escape the beginning of `text` and cut it to one line of `width` columns."""
    most = (width + 1) * (_MAX_ACCENTS + 1)  # accents take no column
    return cut(escape_text(text[:most]) + ("…" if len(text) > most else ""), width)


def cut(text: str, width: int, dots: str = "…") -> str:
    """Cut text that is escaped already to `width` columns, ending in `dots`."""
    if columns(text) <= width:
        return text
    return text[: prefix_length(text, width - len(dots))] + dots if width >= len(dots) else dots[: max(width, 0)]


def to_ascii(text: str) -> str:
    """Convert to ASCII, for a terminal that takes nothing else."""
    return text if text.isascii() else text.translate(_ASCII).encode("ascii", "backslashreplace").decode()


def escape_text(text: str) -> str:
    """Escape characters that are unprintable or invisible, and accents beyond two on one character."""
    if text.isascii() and text.isprintable():
        return text
    from unicodedata import category

    letters, marks = [], _MAX_ACCENTS
    for letter in text:
        marks = marks + 1 if category(letter) in _ABOVE else 0
        hidden = not letter.isprintable() or marks > _MAX_ACCENTS or _UNSEEN.match(letter)
        letters.append(_escape_character(letter) if hidden else letter)
    return "".join(letters)


def escape_command(text: str) -> str:
    """Escape one line of a command, as `escape_text`, and replace long runs of spaces, which push text out of sight, by
    their number."""
    return _BLANKS.sub(lambda found: f" ⟨{len(found[0])} blanks⟩ ", escape_text(text))


def escape_output(line: str) -> str:
    """Escape one line of a command's output. Emoji, accents, tabs and other whitespace are kept; characters that
    control the terminal, reverse the text direction or are invisible are escaped."""
    if line.isascii() and line.isprintable():
        return line
    parts, position = [], 0
    for found in _AS_IT_IS.finditer(line):
        parts += [escape_text(line[position : found.start()]), found[0]]
        position = found.end()
    return "".join([*parts, escape_text(line[position:])])


def _escape_character(letter: str) -> str:
    """Escape a character as in a Python string; a surrogate that stands for an undecodable byte, as that byte."""
    return f"\\x{ord(letter) - 0xDC00:02x}" if "\udc80" <= letter <= "\udcff" else ascii(letter)[1:-1]


class TerminalFilter:
    """Filter for a command's output on a terminal. Colours and newlines pass through; every other control sequence and
    every invisible character is escaped."""

    def __init__(self) -> None:
        import codecs

        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._rest = ""
        self._last = ""
        """The previous character, which decides whether a zero-width joiner joins emoji."""
        self._coloured = False

    def show(self, data: bytes) -> str:
        """Return what to write for `data`. An incomplete sequence at its end is held back for the next call."""
        return self._spell(data, last=False)

    def end(self) -> str:
        """Return what was held back, and the sequence that resets the colour."""
        return self._spell(b"", last=True) + self.reset

    @property
    def reset(self) -> str:
        """Sequence that resets the terminal's colour; empty if none was set."""
        return "\x1b[0m" if self._coloured else ""

    def _spell(self, data: bytes, *, last: bool) -> str:
        text = self._rest + self._decoder.decode(data, last)
        self._rest = ""
        if not last and (cut := _UNFINISHED.search(text)):
            text, self._rest = text[: cut.start()], cut[0]
        before, self._last = self._last, text[-1:] or self._last
        joined = text.startswith("\u200d") and bool(_IS_EMOJI.match(before))
        shown = _COMMANDS.sub(
            lambda found: self._pass(found[1]) if found[1] else _escape_character(found[0]),
            text[1:] if joined else text,
        )
        return f"\u200d{shown}" if joined else shown

    def _pass(self, colour: str) -> str:
        self._coloured = True
        return colour
