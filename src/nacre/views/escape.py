"""Text of strangers → text that shows itself and does nothing. Pure.

It breaks no line, commands no terminal, and holds nothing that is there and cannot be seen.
"""

from __future__ import annotations

from nacre.patterns import later

_UNSEEN = later("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""What Python takes for printable, and shows nothing."""
_ABOVE = ("Mn", "Me")
_MARKS = 2
"""Accents on one letter; a tower of them reaches into other lines."""
_BLANKS = later(" {9,}")
"""More than anybody writes by hand: what stands after them is out of sight."""
_AS_IT_IS = later(
    "[\t\xa0\u2000-\u200a\u202f\u205f\u3000]+"
    "|(?<=[\xa9\xae\u203c-\u3299\ufe0f\U0001f000-\U0001faff])"
    "(?:[\ufe0e\ufe0f\u20e3]|\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff]))"
    "|(?<=[0-9#*])\ufe0f\u20e3?"
)
"""Blanks of any width, and what makes one emoji of two."""
_UNFINISHED = later(r"\x1b(?:\[[0-9;:]{0,64})?\Z")
_COMMANDS = later(
    r"(\x1b\[[0-9;:]{0,64}m)"  # a colour
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def fit(text: str, width: int) -> str:
    """The beginning of it on one line, as much as fits."""
    return cut(escaped(text[: (width + 1) * (_MARKS + 1)]), width)


def cut(text: str, width: int) -> str:
    """The same of a text that is escaped already."""
    if columns(text) <= width:
        return text
    room, kept = width - 1, 0
    for letter in text:
        room -= columns(letter)
        if room < 0:
            break
        kept += 1
    return text[:kept] + "…" if width > 0 else ""


def escaped(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    from unicodedata import category

    letters, marks = [], _MARKS
    for letter in text:
        marks = marks + 1 if category(letter) in _ABOVE else 0
        hidden = not letter.isprintable() or marks > _MARKS or _UNSEEN.match(letter)
        letters.append(_spelt(letter) if hidden else letter)
    return "".join(letters)


def plainly(text: str) -> str:
    """A command on one line: the same, and blanks that push something out of sight are counted."""
    return _BLANKS.sub(lambda found: f" ⟨{len(found[0])} blanks⟩ ", escaped(text))


def printed(line: str) -> str:
    """A line that a command has printed. Emoji, accents, tabs and other blanks are what they are; what commands the
    terminal, runs backwards or cannot be seen is spelt out."""
    if line.isascii() and line.isprintable():
        return line
    parts, position = [], 0
    for found in _AS_IT_IS.finditer(line):
        parts += [escaped(line[position : found.start()]), found[0]]
        position = found.end()
    return "".join([*parts, escaped(line[position:])])


def _spelt(letter: str) -> str:
    """As in a string of Python's; a byte that is no character, as that byte."""
    return f"\\x{ord(letter) - 0xDC00:02x}" if "\udc80" <= letter <= "\udcff" else ascii(letter)[1:-1]


def columns(text: str) -> int:
    """How wide a terminal shows it."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(each) in _ABOVE else 2 if east_asian_width(each) in "WF" else 1 for each in text)


class Screen:
    """What a command has printed → what may be shown of it on a terminal: colours as colours, lines as lines, every
    other command spelt out."""

    def __init__(self) -> None:
        import codecs

        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._rest = ""
        self._coloured = False

    def show(self, data: bytes) -> str:
        return self._spell(data, last=False)

    def end(self) -> str:
        """The rest, and the terminal's own colour again."""
        return self._spell(b"", last=True) + ("\x1b[0m" if self._coloured else "")

    def _spell(self, data: bytes, *, last: bool) -> str:
        text = self._rest + self._decoder.decode(data, last)
        self._rest = ""
        if not last and (cut := _UNFINISHED.search(text)):
            text, self._rest = text[: cut.start()], cut[0]
        return _COMMANDS.sub(lambda found: self._pass(found[1]) if found[1] else _spelt(found[0]), text)

    def _pass(self, colour: str) -> str:
        self._coloured = True
        return colour
