"""A result → what is left on the terminal of it: the view that suits it."""

from __future__ import annotations

from nacre.cli.options import Options
from nacre.cli.terminal import look
from nacre.result import Refused, Result, Running
from nacre.views.panels.notices import refusal
from nacre.views.panels.paint import render
from nacre.views.panels.run import panel
from nacre.views.viewport import Counts

_HINT = "not all of it is shown here; --plain shows every byte, --output-dir DIR keeps it"


def finale(result: Result, options: Options, *, timeout: float | None, lines: Counts | None) -> str:
    shown = look()
    match result.outcome:
        case Refused():
            drawing = refusal(result, shown)
        case Running(_, False) if result.task is not None:
            from nacre.views.panels.background import background_box  # few need it

            drawing = background_box(result, shown, description=options.description)
        case _:
            drawing = panel(result, shown, timeout=timeout, description=options.description, lines=lines, hint=_HINT)
    return render(drawing, shown)
