"""Text of strangers → text that shows itself and does nothing. Pure.

It breaks no line, commands no terminal, and holds nothing that is there and cannot be seen.
"""

from __future__ import annotations

from nacre.ansi.width import columns, prefix_length
from nacre.base.lazy_regex import lazy_regex

_UNSEEN = lazy_regex(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What Python takes for printable, and shows nothing."""
_ABOVE = ("Mn", "Me")
_MAX_ACCENTS = 2
"""Accents on one letter; a tower of them reaches into other lines."""
_BLANKS = lazy_regex(" {9,}")
"""More than anybody writes by hand: what stands after them is out of sight."""
_AS_IT_IS = lazy_regex(
    "[\t\xa0\u2000-\u200a\u202f\u205f\u3000]+"
    "|(?<=[\xa9\xae\u203c-\u3299\ufe0f\U0001f000-\U0001faff])"
    "(?:[\ufe0e\ufe0f\u20e3]|\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff]))"
    "|(?<=[0-9#*])\ufe0f\u20e3?"
)
"""Blanks of any width, and what makes one emoji of two."""
_UNFINISHED = lazy_regex(r"(?:\x1b(?:\[[0-9;:]{0,64})?|\r)\Z")
_EMOJI = "[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]"
_IS_EMOJI = lazy_regex(_EMOJI)
_COMMANDS = lazy_regex(
    r"(\x1b\[[0-9;:]{0,64}m)"  # a colour
    r"|\r(?!\n)"  # what follows would be written over what was there
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\ud800-\udfff\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
    f"|(?<!{_EMOJI})\u200d"  # joins emoji, and elsewhere cannot be seen
)
_ASCII = str.maketrans(
    {
        "…": "...", "─": "-", "│": "|", "┆": ":", "├": "+", "└": "+", "╭": "+", "╮": "+", "╰": "+", "╯": "+",
        "⟨": "<", "⟩": ">", "←": "<-", "›": ">",
    }
)  # fmt: skip
"""What we draw with."""


def fit(text: str, width: int) -> str:
    """The beginning of it on one line, as much as fits."""
    most = (width + 1) * (_MAX_ACCENTS + 1)
    return cut(escape_text(text[:most]) + ("…" if len(text) > most else ""), width)  # some letters take no column


def cut(text: str, width: int, dots: str = "…") -> str:
    """The same of a text that is escaped already."""
    if columns(text) <= width:
        return text
    return text[: prefix_length(text, width - len(dots))] + dots if width >= len(dots) else dots[: max(width, 0)]


def to_ascii(text: str) -> str:
    """For a terminal that takes nothing else."""
    return text if text.isascii() else text.translate(_ASCII).encode("ascii", "backslashreplace").decode()


def escape_text(text: str) -> str:
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
    """A command on one line: the same, and blanks that push something out of sight are counted."""
    return _BLANKS.sub(lambda found: f" ⟨{len(found[0])} blanks⟩ ", escape_text(text))


def escape_output(line: str) -> str:
    """A line that a command has printed. Emoji, accents, tabs and other blanks are what they are; what commands the
    terminal, runs backwards or cannot be seen is spelt out."""
    if line.isascii() and line.isprintable():
        return line
    parts, position = [], 0
    for found in _AS_IT_IS.finditer(line):
        parts += [escape_text(line[position : found.start()]), found[0]]
        position = found.end()
    return "".join([*parts, escape_text(line[position:])])


def _escape_character(letter: str) -> str:
    """As in a string of Python's; a byte that is no character, as that byte."""
    return f"\\x{ord(letter) - 0xDC00:02x}" if "\udc80" <= letter <= "\udcff" else ascii(letter)[1:-1]


class TerminalFilter:
    """What a command has printed → what may be shown of it on a terminal: colours as colours, lines as lines, every
    other command spelt out, and so is what cannot be seen."""

    def __init__(self) -> None:
        import codecs

        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._rest = ""
        self._last = ""
        """The character before it, which tells whether emoji are joined."""
        self._coloured = False

    def show(self, data: bytes) -> str:
        return self._spell(data, last=False)

    def end(self) -> str:
        """The rest, and the terminal's own colour again."""
        return self._spell(b"", last=True) + self.reset

    @property
    def reset(self) -> str:
        """What gives the terminal its own colour again."""
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
