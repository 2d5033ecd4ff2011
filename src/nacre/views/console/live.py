"""A command while it runs → what a terminal shows of it: the last lines between two rules, and how it goes. Pure.

The drawing stays where it is and is written over in place, in one piece: nothing flickers. No state of the terminal
outlives a frame, so whoever kills us in between leaves a terminal that works. Bytes are only kept, counted and dropped
as they come; everything else is done when a frame is drawn.
"""

from __future__ import annotations

from nacre.ansi.width import columns
from nacre.base.units import format_duration, format_size
from nacre.result import Redacts, StreamName
from nacre.views.console.escape import cut, escape_text, to_ascii
from nacre.views.console.short_command import shorten
from nacre.views.console.viewport import Counts, last_lines

MAX_LINES = 12
"""Lines of output."""
_TAIL_BYTES = 8 * 1024
"""Bytes of which the last lines are made."""
_MAX_COUNTED_BYTES = 32 * 1024 * 1024
"""Bytes in which lines are counted. To count those of a flood would take longer than all the rest of it."""
_SPINNER, _ASCII_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_SPINNER_INTERVAL_S = 0.1
"""Seconds."""
_BAR = "\x1b[K"
_STAY, _WRAP = "\x1b[?7l", "\x1b[?7h"
"""Lines that are wider than we think are cut by the terminal, not wrapped; and wrapped again."""
_REST = "\x1b[J"


class LiveView:
    def __init__(
        self,
        command: str,
        cwd: str,
        *,
        timeout: float | None = None,
        description: str = "",
        reflows: bool = True,
        colour: bool = False,
        redactor: Redacts | None = None,
    ) -> None:
        """`reflows`: the terminal breaks long lines anew when it gets narrower. `timeout` and
        `redactor`, which masks what may not be shown, can be set until the first frame is drawn."""
        self.line_counts = {"stdout": 0, "stderr": 0}
        """Lines, complete ones, as far as they are counted."""
        self.bytes = 0
        self.ending = False
        """It has been told to end."""
        self._tail = b""
        self._open = {"stdout": False, "stderr": False}
        self.timeout = timeout
        self.redactor = redactor
        self._description = description
        self._command, self._cwd = command, cwd
        self._gist: tuple[int, str] = (0, "")
        self._reflows = reflows
        self._colour = colour
        self._drawn: list[int] = []
        """Columns of each line that is on the screen."""

    @property
    def counts(self) -> Counts:
        """Lines of stdout and of stderr, one without its end among them."""
        out, err = (self.line_counts[name] + self._open[name] for name in ("stdout", "stderr"))
        return Counts(out, err, self.bytes <= _MAX_COUNTED_BYTES)

    def feed(self, stream: StreamName, data: bytes) -> None:
        self.bytes += len(data)
        if self.bytes <= _MAX_COUNTED_BYTES:
            self.line_counts[stream] += len(data) - len(data.translate(None, b"\n"))  # half the time that `count` takes
        self._open[stream] = not data.endswith(b"\n")
        self._tail = data[-_TAIL_BYTES:] if len(data) >= _TAIL_BYTES else (self._tail + data)[-_TAIL_BYTES:]

    def lines(self, elapsed: float, width: int, height: int, *, utf8: bool = True) -> list[str]:
        """As they would stand on the screen."""
        room = max(width - 1, 1)
        rule = ("─" if utf8 else "-") * room
        secrets = () if self.redactor is None else self.redactor.values()
        shown = last_lines(self._whole_tail(), max(min(MAX_LINES, height - 5), 1), room, secrets)
        lines = [self._header(room, utf8=utf8), rule, *shown, rule, self._status_line(elapsed, room, utf8=utf8)]
        lines = lines if height >= 5 else lines[-1:]
        return lines if utf8 else [cut(to_ascii(line), room, dots="...") for line in lines]

    def frame(self, elapsed: float, width: int, height: int, *, utf8: bool = True) -> str:
        """What to write: over what is there. Afterwards the cursor is at the end of the last line."""
        lines = self.lines(elapsed, width, height, utf8=utf8)
        back = self._back(width, height)
        self._drawn = [columns(line) for line in lines]
        if self._colour:
            lines = [paint_line(line, style) for line, style in zip(lines, styles(len(lines)), strict=True)]
        return _STAY + back + f"{_BAR}\r\n".join(lines) + _BAR + _REST + _WRAP

    def erase(self, width: int, height: int) -> str:
        """Takes it off the screen."""
        back = self._back(width, height)
        self._drawn = []
        return back + _REST if back else ""

    def forget(self) -> None:
        """Somebody else has written since: begin anew, below."""
        self._drawn = []

    def _back(self, width: int, height: int) -> str:
        """To the first column of the first line."""
        if not self._drawn:
            return ""
        rows = [max(1, -(-each // max(width, 1))) if self._reflows else 1 for each in self._drawn]
        up = min(sum(rows) - 1, max(height - 1, 0))
        return f"\r\x1b[{up}A" if up else "\r"

    def _whole_tail(self) -> bytes:
        """From the beginning of a line, unless there is only one."""
        if self.bytes <= len(self._tail):
            return self._tail
        start = self._tail.find(b"\n") + 1
        return self._tail[start:] if start < len(self._tail) else self._tail

    def _header(self, room: int, *, utf8: bool) -> str:
        if self._gist[0] != room:
            self._gist = room, cut(self._title(room if utf8 else room - len("...") + 1), room)
        return self._gist[1]

    def _title(self, room: int) -> str:
        text = self._description or self._command
        if self.redactor is not None:
            text = self.redactor.mask(text)
        return f"Running: {escape_text(text)}" if self._description else f"$ {shorten(text, self._cwd, most=room - 2)}"

    def _status_line(self, elapsed: float, room: int, *, utf8: bool) -> str:
        spinner = _SPINNER if utf8 else _ASCII_SPINNER
        parts = [f"{spinner[int(elapsed / _SPINNER_INTERVAL_S) % len(spinner)]} {format_duration(elapsed)}"]
        if self.timeout is not None and self.timeout != float("inf"):
            parts[0] += f" of {format_duration(self.timeout) if self.timeout < 9.95 else f'{self.timeout:g}s'}"
        out, err, exact = self.counts
        parts += [
            f"{out + err:,}{'' if exact else '+'} line{'' if out + err == 1 else 's'}",
            f"{format_size(self.bytes)} bytes",
            "ending; Ctrl-C again leaves at once" if self.ending else "Ctrl-C ends it",
        ]
        while len(parts) > 1 and columns("  ".join(parts)) > room:
            parts.pop()
        return cut("  ".join(parts), room)


def styles(count: int) -> list[str]:
    """Of each line of a drawing: its title, rules and last line are not the command's."""
    return ["command", "faint", *[""] * (count - 4), "faint", "faint"] if count >= 5 else ["faint"] * count


def paint_line(line: str, style: str) -> str:
    code = {"command": "1", "faint": "2"}.get(style)
    return f"\x1b[{code}m{line}\x1b[0m" if code else line
