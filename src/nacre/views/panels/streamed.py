"""The streaming view (M-10): what runs, its lines as they come between two rules, then exit code and duration.

`nacre run --view stream` draws the opening, lets the output pass, and draws the closing; the gallery has all three.
"""

from __future__ import annotations

from nacre.result import Result
from nacre.views.console.capabilities import Look
from nacre.views.console.escape import cut, escaped
from nacre.views.console.masked import described, masked
from nacre.views.console.short_command import parted
from nacre.views.console.viewport import MOST, View, viewport
from nacre.views.panels.run import contents, duration, notes, status
from nacre.views.panels.style import Drawing, rule, said

_NARROWEST = 16


def streamed(result: Result, look: Look, *, description: str = "", most: int = MOST) -> Drawing:
    result, description = masked(result), described(result, description)
    view = viewport(result, most=most)
    return [
        *opening(result.command, result.cwd, look, description=description),
        *contents(view),
        *closing(result, look, view),
    ]


def opening(command: str, cwd: str, look: Look, *, description: str = "") -> Drawing:
    if description:
        return [said(("Running: ", "faint"), (escaped(description), "command")), rule(look)]
    room = max(look.width - 2, _NARROWEST)
    gist, remark = parted(command, cwd, most=room)
    line = cut(gist + remark, room)
    return [said(("$ ", "faint"), (line[: len(gist)], "command"), (line[len(gist) :], "note")), rule(look)]


def closing(result: Result, look: Look, view: View | None = None) -> Drawing:
    """`view`: what was shown of its output; None: all of it."""
    result = masked(result)
    word, name = status(result.outcome)
    code = result.exit_code
    return [
        rule(look),
        said((word, name)) if code is None else said(("Exit code: ", "faint"), (str(code), name)),
        said(("Duration: ", "faint"), duration(result.duration)),
        *notes(result, view or View(), look),
    ]
