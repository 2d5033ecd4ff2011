"""A task that was started: a box with what one needs next."""

from __future__ import annotations

from rich import box
from rich.panel import Panel
from rich.text import Text

from nacre.base.frozen import replace
from nacre.result import Result
from nacre.views.console.capabilities import Look
from nacre.views.console.escape import escaped
from nacre.views.console.masked import described, masked
from nacre.views.console.viewport import viewport
from nacre.views.panels.run import command_line, notes
from nacre.views.panels.style import Drawing, rule, said, style, titled

_STARTED = "Background Task Started"
_NARROWEST = 50


def background_box(result: Result, look: Look, *, description: str = "") -> Drawing:
    """A task has been started (M-10). Without sides where its lines are too long for them: a path is for copying."""
    result, description = masked(result), described(result, description)
    task = result.task
    if task is None:
        raise ValueError("it is no task")
    id = escaped(task.id)
    rows = [
        said(("Task ID: ", "faint"), (id, "command")),
        said(("Command: ", "faint"), command_line(result, look.width - 11).plain.removeprefix("$ ")),
        said(("Output:  ", "faint"), escaped(task.output_file)),
        said(("Process: ", "faint"), str(task.pid), (f"  (kill -9 -{task.pgid} ends its group)", "faint")),
        said(),
        said(("Use ", "faint"), "nacre tasks", (" to check status", "faint")),
        said(("Use ", "faint"), f"nacre output -f {id}", (" to get results", "faint")),
        said(("Use ", "faint"), f"nacre kill {id}", (" to end it", "faint")),
    ]
    if description:
        rows.insert(0, said((escaped(description), "italic")))
    title = said((_STARTED, "bold green not dim"))
    remarks = notes(replace(result, task=None), viewport(result), look)
    inner = max(_NARROWEST, *(row.cell_len for row in rows))
    if inner + 4 > look.width:
        return [titled(look, title), *rows, rule(look), *remarks]
    body = Text("\n").join(rows)
    body.no_wrap = True
    border = box.ROUNDED if look.utf8 else box.ASCII
    framed = Panel(body, title=title, title_align="left", box=border, border_style=style("faint"), width=inner + 4)
    return [framed, *remarks]
