"""`nacre run --view stream`: prints the output as it arrives, between the command above and the result below."""

from __future__ import annotations

from collections.abc import Callable

from nacre.cli.common.messages import encode_for_terminal, write_out
from nacre.cli.common.terminal import terminal_capabilities
from nacre.cli.run.options import RunArguments
from nacre.cli.run.output import OutputWriter
from nacre.cli.run.view import command_directory, print_advice
from nacre.result import Result, Started
from nacre.views.panels.streamed import draw_closing, draw_opening
from nacre.views.panels.style import render


class StreamView(OutputWriter):
    """The output between two rules."""

    keeps_output = False
    quiet = False

    def __init__(self, options: RunArguments, on_failure: Callable[[], None]) -> None:
        super().__init__(on_failure)
        self._options = options
        self._cwd = command_directory(options)
        self._begun = False

    async def begin(self, started: Started) -> None:
        """Draw the command above its output."""
        self._begun = True
        shown, redactor = terminal_capabilities(), started.redactor
        command, description = self._options.command, self._options.request.description
        if redactor is not None:
            command, description = redactor.mask(command), redactor.mask(description)
        lines = draw_opening(command, self._cwd, shown, description=description)
        await self._write_bytes(1, encode_for_terminal(render(lines, shown), 1))

    def finish(self, result: Result) -> None:
        """Draw the closing lines, on a new line of the terminal. A command that never started gets a panel."""
        if self._begun:
            shown = terminal_capabilities()
            write_out(("\n" if self.line_is_open else "") + render(draw_closing(result, shown), shown))
        else:
            from nacre.cli.run.panel_view import render_panel

            write_out(render_panel(result, self._options))
        print_advice(result, self._options)
