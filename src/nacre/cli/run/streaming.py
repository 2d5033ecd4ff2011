"""`nacre run --view stream`: prints the output as it arrives, between the command above and the result below."""

from __future__ import annotations

from collections.abc import Callable

from nacre.cli.common.messages import encode_for_terminal
from nacre.cli.common.terminal import terminal_capabilities
from nacre.cli.run.output import OutputWriter
from nacre.result import Result, Started
from nacre.views.panels.streamed import draw_closing, draw_opening
from nacre.views.panels.style import render


class StreamingOutput(OutputWriter):
    """Writer that draws the command above its output; the caller prints `render_closing` below it."""

    def __init__(
        self,
        command: str,
        cwd: str,
        *,
        description: str,
        on_failure: Callable[[], None],
    ) -> None:
        super().__init__(on_failure)
        self._command, self._cwd, self._description = command, cwd, description
        self.begun = False

    async def begin(self, started: Started) -> None:
        self.begun = True
        shown, redactor = terminal_capabilities(), started.redactor
        command, description = self._command, self._description
        if redactor is not None:
            command, description = redactor.mask(command), redactor.mask(description)
        lines = draw_opening(command, self._cwd, shown, description=description)
        await self._write_bytes(1, encode_for_terminal(render(lines, shown), 1))

    def render_closing(self, result: Result) -> str:
        """Return the closing lines, on a new line of the terminal."""
        shown = terminal_capabilities()
        return ("\n" if self.line_is_open else "") + render(draw_closing(result, shown), shown)
