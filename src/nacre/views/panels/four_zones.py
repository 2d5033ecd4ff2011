"""The four zones exactly as in T-11, from plain data: for callers that have the text of a report, but no Result.

── $ ls missing ─────────────────────────────────────── exit 2 ──
cwd: /home/ada/shop  timeout: 30s
─────────────────────────────────────────────────────────────────
what it printed; stderr in red
─────────────────────────────────────────────────────────────────
(truncated) stdout: 0 lines stderr: 1 lines 12ms
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions
from rich.text import Text

from nacre.base.frozen import frozen, replace
from nacre.result import Captured, Exited, Result
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.escape import escape_output, escape_text, fit
from nacre.views.console.viewport import viewport
from nacre.views.panels.run import contents
from nacre.views.panels.style import Drawing, rule, styled_line, titled_rule

COMMAND_COLUMNS = 50
"""Columns of `$ command`."""


@frozen(kw_only=True)
class FourZones:
    """The four zones as a rich renderable, as wide as its console."""

    command: str
    exit_code: int
    cwd: str
    timeout: int | None
    stdout: str
    stderr: str
    truncated: bool
    duration_ms: float | None = None

    def drawing(self, look: TerminalCapabilities) -> Drawing:
        """Return the zones for a terminal."""
        state = ("ok", "bold green") if self.exit_code == 0 else (f"exit {self.exit_code}", "bold red")
        limit = "none" if self.timeout is None else f"{self.timeout}s"
        return [
            titled_rule(look, styled_line((fit(f"$ {self.command}", COMMAND_COLUMNS), "command")), styled_line(state)),
            styled_line(("cwd: ", "faint"), escape_text(self.cwd), ("  timeout: ", "faint"), limit),
            rule(look),
            *self._output_lines(),
            rule(look),
            styled_line((self._truncated, "bold magenta"), (self._counted, "faint")),
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in self.drawing(TerminalCapabilities(options.max_width, utf8=not options.ascii_only)):
            if isinstance(line, Text):
                line.end, line.no_wrap, line.overflow = "\n", False, "fold"
                yield line

    def _output_lines(self) -> Drawing:
        bare = Result(command=self.command, cwd=self.cwd, outcome=Exited(self.exit_code))
        results = []  # one per stream: a line that is in both stays red in the second
        if self.stdout:
            results.append(replace(bare, out=_to_captured(self.stdout)))
        if self.stderr:
            results.append(replace(bare, err=_to_captured(self.stderr)))
        lines: Drawing = [line for each in results for line in contents(viewport(each))]
        return lines or [styled_line(("(no output)", "note"))]

    @property
    def _truncated(self) -> str:
        return "(truncated) " if self.truncated else ""

    @property
    def _counted(self) -> str:
        took = "" if self.duration_ms is None else f" {self.duration_ms:.0f}ms"
        return f"stdout: {_lines(self.stdout)} lines stderr: {_lines(self.stderr)} lines{took}"


def plain_text(text: str) -> Text:
    """Return text that is not a report: its lines, with control sequences escaped."""
    return Text("\n".join(map(escape_output, text.split("\n"))))


def _to_captured(text: str) -> Captured:
    data = text.encode("utf-8", "replace")
    return Captured(head=data, total_bytes=len(data))


def _lines(text: str) -> int:
    return text.count("\n") + 1 if text else 0
