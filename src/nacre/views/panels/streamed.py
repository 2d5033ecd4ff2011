"""The streaming view (M-10): the command, its output between two rules as it arrives, then exit code and duration.

`nacre run --view stream` draws the opening, passes the output through, and draws the closing; the gallery shows all
three.
"""

from __future__ import annotations

from nacre.base.units import format_duration
from nacre.result import Result
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.escape import cut, escape_text
from nacre.views.console.masked import mask_result, masked_description
from nacre.views.console.short_command import split_shortened
from nacre.views.console.viewport import MAX_LINES, Viewport, viewport
from nacre.views.panels.run import contents, notes, status
from nacre.views.panels.style import Drawing, rule, styled_line

_MIN_COLUMNS = 16


def draw_streamed(
    result: Result, look: TerminalCapabilities, *, description: str = "", most: int = MAX_LINES
) -> Drawing:
    """Draw the complete view of a result."""
    result, description = mask_result(result), masked_description(result, description)
    view = viewport(result, most=most)
    return [
        *draw_opening(result.command, result.cwd, look, description=description),
        *contents(view),
        *draw_closing(result, look, view),
    ]


def draw_opening(command: str, cwd: str, look: TerminalCapabilities, *, description: str = "") -> Drawing:
    """Draw the lines above the output."""
    if description:
        return [styled_line(("Running: ", "faint"), (escape_text(description), "command")), rule(look)]
    room = max(look.width - 2, _MIN_COLUMNS)
    gist, remark = split_shortened(command, cwd, most=room)
    line = cut(gist + remark, room)
    return [styled_line(("$ ", "faint"), (line[: len(gist)], "command"), (line[len(gist) :], "note")), rule(look)]


def draw_closing(result: Result, look: TerminalCapabilities, view: Viewport | None = None) -> Drawing:
    """Draw the lines below the output. `view`: the part of the output that was shown; None: all of it."""
    result = mask_result(result)
    word, name = status(result.outcome)
    code = result.exit_code
    return [
        rule(look),
        styled_line((word, name)) if code is None else styled_line(("Exit code: ", "faint"), (str(code), name)),
        styled_line(("Duration: ", "faint"), format_duration(result.duration, precise=True)),
        *notes(result, view or Viewport(), look),
    ]
