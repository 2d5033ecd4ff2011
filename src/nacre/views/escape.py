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
_UNFINISHED = later(r"\x1b(?:\[[0-9;:]{0,64})?\Z")
_COMMANDS = later(
    r"(\x1b\[[0-9;:]{0,64}m)"  # a colour
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def fit(text: str, width: int) -> str:
    """The beginning of it on one line, as much as fits."""
    text = escaped(text[: (width + 1) * (_MARKS + 1)])
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
