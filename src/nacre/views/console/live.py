"""Renders a running command for a terminal: the last lines between two rules, and a status line. Pure.

The drawing is overwritten in place, in one write, so that it does not flicker. No terminal state outlives a frame: if
this process is killed between two frames, the terminal remains usable. `feed` only keeps, counts and drops bytes;
everything else is done when a frame is drawn.
"""

from __future__ import annotations

from nacre.ansi.width import columns
from nacre.base.units import format_duration, format_size
from nacre.result import Redacts, StreamName
from nacre.views.console.escape import cut, escape_text, to_ascii
from nacre.views.console.short_command import shorten
from nacre.views.console.viewport import Counts, last_lines

MAX_LINES = 12
"""Lines of output shown."""
_TAIL_BYTES = 8 * 1024
"""Output kept for the last lines."""
_MAX_COUNTED_BYTES = 32 * 1024 * 1024
"""Output in which lines are counted. Counting those of a flood would take longer than everything else."""
_SPINNER, _ASCII_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_SPINNER_INTERVAL_S = 0.1
"""Time that each character of the spinner is shown."""
_BAR = "\x1b[K"
_STAY, _WRAP = "\x1b[?7l", "\x1b[?7h"
"""Turn wrapping off, so that the terminal cuts lines that are wider than computed, and on again."""
_REST = "\x1b[J"


class LiveView:
    """Live view of one run: keeps the end of its output and renders the frames that show it."""

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
        """`reflows`: the terminal re-wraps long lines when it gets narrower. `redactor` masks secrets. `timeout` and
        `redactor` may be set until the first frame is drawn."""
        self.line_counts = {"stdout": 0, "stderr": 0}
        """Complete lines of each stream, as far as they are counted."""
        self.bytes = 0
        self.ending = False
        """True once the command is being killed."""
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
        """Columns of each line on the screen."""

    @property
    def counts(self) -> Counts:
        """Lines of stdout and stderr, including one that is not complete."""
        out, err = (self.line_counts[name] + self._open[name] for name in ("stdout", "stderr"))
        return Counts(out, err, self.bytes <= _MAX_COUNTED_BYTES)

    def feed(self, stream: StreamName, data: bytes) -> None:
        """Add output of the command."""
        self.bytes += len(data)
        if self.bytes <= _MAX_COUNTED_BYTES:
            self.line_counts[stream] += len(data) - len(data.translate(None, b"\n"))  # takes half the time of `count`
        self._open[stream] = not data.endswith(b"\n")
        self._tail = data[-_TAIL_BYTES:] if len(data) >= _TAIL_BYTES else (self._tail + data)[-_TAIL_BYTES:]

    def lines(self, elapsed: float, width: int, height: int, *, utf8: bool = True) -> list[str]:
        """Return the lines as they appear on the screen."""
        room = max(width - 1, 1)
        rule = ("─" if utf8 else "-") * room
        secrets = () if self.redactor is None else self.redactor.values()
        shown = last_lines(self._whole_tail(), max(min(MAX_LINES, height - 5), 1), room, secrets)
        lines = [self._header(room, utf8=utf8), rule, *shown, rule, self._status_line(elapsed, room, utf8=utf8)]
        lines = lines if height >= 5 else lines[-1:]
        return lines if utf8 else [cut(to_ascii(line), room, dots="...") for line in lines]

    def frame(self, elapsed: float, width: int, height: int, *, utf8: bool = True) -> str:
        """Return the text that draws the next frame over the previous one. It leaves the cursor at the end of the last
        line."""
        lines = self.lines(elapsed, width, height, utf8=utf8)
        back = self._back(width, height)
        self._drawn = [columns(line) for line in lines]
        if self._colour:
            lines = [paint_line(line, style) for line, style in zip(lines, styles(len(lines)), strict=True)]
        return _STAY + back + f"{_BAR}\r\n".join(lines) + _BAR + _REST + _WRAP

    def erase(self, width: int, height: int) -> str:
        """Return the text that erases the drawing; empty if there is none."""
        back = self._back(width, height)
        self._drawn = []
        return back + _REST if back else ""

    def forget(self) -> None:
        """Start anew below: another program has written in between."""
        self._drawn = []

    def _back(self, width: int, height: int) -> str:
        """Return the sequence that moves the cursor to the first column of the first line."""
        if not self._drawn:
            return ""
        rows = [max(1, -(-each // max(width, 1))) if self._reflows else 1 for each in self._drawn]
        up = min(sum(rows) - 1, max(height - 1, 0))
        return f"\r\x1b[{up}A" if up else "\r"

    def _whole_tail(self) -> bytes:
        """Return the kept output from the start of a line, unless it contains only one."""
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
    """Return the style of each of `count` lines: title, rules and status line have one, output lines have none."""
    return ["command", "faint", *[""] * (count - 4), "faint", "faint"] if count >= 5 else ["faint"] * count


def paint_line(line: str, style: str) -> str:
    """Wrap `line` in the escape sequence of `style`."""
    code = {"command": "1", "faint": "2"}.get(style)
    return f"\x1b[{code}m{line}\x1b[0m" if code else line
