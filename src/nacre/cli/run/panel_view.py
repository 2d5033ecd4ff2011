"""`nacre run` on a terminal: the latest output while the command runs, then a panel that stays."""

from __future__ import annotations

from collections.abc import Callable

from nacre.base.frozen import replace
from nacre.cli.common.messages import write_out
from nacre.cli.common.terminal import terminal_capabilities
from nacre.cli.run import saved_output
from nacre.cli.run.live_display import LiveDisplay
from nacre.cli.run.options import RunArguments
from nacre.cli.run.view import command_directory, print_advice
from nacre.result import Refused, Result, Running
from nacre.views.console.viewport import Counts, viewport


class PanelView(LiveDisplay):
    """The live display and the final panel."""

    keeps_output = True
    quiet = False

    def __init__(self, options: RunArguments, on_failure: Callable[[], None]) -> None:
        super().__init__(
            options.command, command_directory(options), description=options.request.description, on_failure=on_failure
        )
        self._options = options

    def finish(self, result: Result) -> None:
        counts = None if self._options.request.background else self.live.counts
        write_out(render_panel(result, self._options, timeout=self.live.timeout, counts=counts))
        print_advice(result, self._options)


def render_panel(
    result: Result, options: RunArguments, *, timeout: float | None = None, counts: Counts | None = None
) -> str:
    """Return the rendered view of `result`. `timeout`: the one in force, in seconds; None if the command never
    started."""
    from nacre.views.panels.refusal import refusal  # rich is slow to load: a thread does it while the command runs
    from nacre.views.panels.run import panel
    from nacre.views.panels.style import render

    shown = terminal_capabilities()
    match result.outcome:
        case Refused():
            drawing = refusal(result, shown)
        case Running(_, False) if result.task is not None:
            from nacre.views.panels.background import background_box  # imported here: few runs need it

            drawing = background_box(result, shown, description=options.request.description)
        case _:
            if options.request.background and timeout == float("inf"):  # the default of a task: not worth showing
                timeout = None
            result = _keep_output(result, options)
            drawing = panel(result, shown, timeout=timeout, description=options.request.description, lines=counts)
    return render(drawing, shown)


def _keep_output(result: Result, options: RunArguments) -> Result:
    """Return the result with a file of its complete output, if the panel does not show all of it."""
    if result.spill is None and not result.dropped_bytes and viewport(result).cut:
        from nacre.views.model.with_spill import write_spill

        result = replace(
            result, spill=write_spill(result.both, lambda: saved_output.directory(options.display.output_dir))
        )
    if result.spill is not None:
        saved_output.prune()
    return result
