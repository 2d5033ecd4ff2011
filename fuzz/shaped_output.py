"""Check that the text for a model is made of the output: whole lines from its beginning and up to its end, with exactly
the stated amount omitted between them and folded away.

Applies to output without anything that a terminal interprets or that is masked; such a text is unchanged but for
nacre's own lines and the backslash before a line that imitates one.
"""

from __future__ import annotations

import re

from nacre.output.shape import ShapedText
from nacre.result import Captured

_FOLDED = re.compile(r"\[… ([\d,]+) (identical|similar|blank) lines\]")
_ERROR = re.compile(r"\[… (\d+): (.*)\]", re.DOTALL)


def is_plain(data: bytes) -> bool:
    """Return true if rendering leaves the data unchanged."""
    try:
        text = data.decode()
    except ValueError:
        return False
    return text.replace("\n", "").replace("\t", "").isprintable()


def find_miscount(captured: Captured, data: bytes, limit: int) -> str:
    """Return what is wrong with the captured head and tail of some bytes; empty if nothing is."""
    head, tail, dropped = captured.head, captured.tail, captured.dropped_bytes
    if captured.total_bytes != len(data) or len(head) + dropped + len(tail) != len(data):
        return f"{len(head)} bytes, {dropped} dropped and {len(tail)} are not {captured.total_bytes}, of {len(data)}"
    if not data.startswith(head) or not data.endswith(tail):
        return "the beginning or the end is another"
    if (dropped and len(head) + len(tail) > limit) or dropped > max(0, len(data) - limit) + 6:  # two characters
        return f"{dropped} bytes of {len(data)} are dropped, where {limit} are kept"
    gone = data[len(head) : len(head) + dropped]
    if (began := len(gone.translate(None, bytes(range(0x80, 0xC0))))) != captured.dropped_chars:
        return f"{began} characters are dropped, not {captured.dropped_chars}"
    return ""


def find_difference(shaped: ShapedText, captured: Captured) -> str:
    """Return how the text made of plain output differs from that output; empty if it does not."""
    if shaped.binary:
        return f"it is text, and taken for binary ({shaped.binary})"
    lines, notes = shaped.text.split("\n") if captured.total_bytes else [], list(shaped.notes)
    parts = [captured.head.decode(), captured.tail.decode()] if captured.dropped_bytes else []
    whole = "" if parts else (captured.head + captured.tail).decode()
    if not parts and not shaped.omitted_chars:
        lines = lines[: len(lines) - len(notes)]
        aligned = _Aligned(whole, lines)
        return aligned.wrong or ("" if aligned.all else f"{aligned.count} of {len(whole)} characters are told of")
    at = next((at for at, line in enumerate(lines) if line == notes[0]), -1) if notes else -1
    if at < 0 or lines[at : at + len(notes)] != notes:
        return "something is left out, and it is not said where"
    first = _Aligned(parts[0] if parts else whole, lines[:at])
    last = _Aligned(parts[1] if parts else whole, lines[at + len(notes) :], back=True)
    if first.wrong or last.wrong:
        return first.wrong or last.wrong
    if first.hidden + last.hidden != shaped.folded:
        return f"{first.hidden + last.hidden} lines are folded, not {shaped.folded}"
    told = first.count + last.count + shaped.omitted_chars
    if abs(told - len("".join(parts) if parts else whole)) > 2:  # newlines at the ends of the cut
        return f"{first.count} characters, {shaped.omitted_chars} left out and {last.count} are not all of it"
    return "" if parts else _find_misquote(notes, whole.split("\n"))


def _find_misquote(notes: list[str], lines: list[str]) -> str:
    for note in notes:
        if found := _ERROR.fullmatch(note):
            line = lines[int(found[1]) - 1] if int(found[1]) <= len(lines) else ""
            if not all(part in line for part in found[2].removeprefix("\\").split("…")):
                return f"line {found[1]} does not say {found[2]!r}"
    return ""


class _Aligned:
    """Compares shown lines with those of a text, from its beginning or from its end."""

    def __init__(self, text: str, shown: list[str], *, back: bool = False) -> None:
        lines = text.removesuffix("\n").split("\n") if text else []
        self._lines = lines[::-1] if back else lines
        self._back = back
        self.wrong = ""
        self.count = self.hidden = 0
        """Characters of the text that are accounted for, and lines of it that are folded."""
        at = 0
        order = shown[::-1] if back else shown
        for index, line in enumerate(order):
            if found := _FOLDED.fullmatch(line):
                folded = int(found[1].replace(",", ""))
                self.hidden += folded
                run = self._lines[at - 1 : at + folded + 1]
                if len(run) < folded + 2 or (found[2] != "similar" and len({*map(str.strip, run)}) > 1):
                    self.wrong = f"{line!r} is not so"
                    return
                self.count += sum(len(each) + 1 for each in self._lines[at : at + folded])
                at += folded
                continue
            if at >= len(self._lines):
                self.wrong = f"{line!r} is more than there was"
                return
            if (length := self._fits(line, self._lines[at], last=index == len(order) - 1)) < 0:
                self.wrong = f"{line!r} is shown, and {self._lines[at][:500]!r} was printed"
                return
            self.count += length
            at += 1
        self.all = at == len(self._lines) and not (shown and self.count < len(text.removesuffix("\n")))

    def _fits(self, shown: str, line: str, *, last: bool) -> int:
        """Return the number of characters of the line that are shown, with its newline; -1 if they differ. The last
        line may be a part."""
        for mine in (shown, shown[1:]) if shown.startswith("\\") and "[" in line else (shown,):
            if mine == line:
                return len(line) + 1
            if last and mine and (line.endswith(mine) if self._back else line.startswith(mine)):
                return len(mine)
        return -1
