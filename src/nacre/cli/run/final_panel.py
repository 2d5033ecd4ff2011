"""Renders the view of a result that stays on the terminal."""

from __future__ import annotations

from nacre.base.frozen import replace
from nacre.cli.common.terminal import terminal_capabilities
from nacre.cli.run import saved_output
from nacre.cli.run.options import RunArguments
from nacre.result import Refused, Result, Running, Started
from nacre.views.console.viewport import Counts, viewport
from nacre.views.model.with_spill import write_spill
from nacre.views.panels.refusal import refusal
from nacre.views.panels.run import panel
from nacre.views.panels.style import render


def print_final_panel(result: Result, options: RunArguments, *, started: Started | None, lines: Counts | None) -> str:
    """Return the rendered view of `result`. `started`: the event with the timeout in force; None if the command never
    started."""
    shown = terminal_capabilities()
    match result.outcome:
        case Refused():
            drawing = refusal(result, shown)
        case Running(_, False) if result.task is not None:
            from nacre.views.panels.background import background_box  # imported here: few runs need it

            drawing = background_box(result, shown, description=options.description)
        case _:
            timeout = None if started is None else started.timeout
            if options.background and timeout == float("inf"):  # the default of a task: not worth showing
                timeout = None
            drawing = panel(
                _with_file(result, options), shown, timeout=timeout, description=options.description, lines=lines
            )
    return render(drawing, shown)


def _with_file(result: Result, options: RunArguments) -> Result:
    """Return the result with a file of its complete output, if the panel does not show all of it."""
    if result.spill is None and not result.dropped_bytes and viewport(result).cut:
        result = replace(result, spill=write_spill(result.both, lambda: saved_output.directory(options.output_dir)))
    if result.spill is not None:
        saved_output.prune()
    return result
