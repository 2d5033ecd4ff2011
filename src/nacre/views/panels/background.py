"""The box for a task that was started, with the commands needed next."""

from __future__ import annotations

from rich import box
from rich.panel import Panel
from rich.text import Text

from nacre.base.frozen import replace
from nacre.result import Result
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.escape import escape_text
from nacre.views.console.masked import mask_result, masked_description
from nacre.views.console.viewport import viewport
from nacre.views.panels.run import command_line, notes
from nacre.views.panels.style import Drawing, rule, style, styled_line, titled_rule

_STARTED = "Background Task Started"
_MIN_BOX_COLUMNS = 50


def background_box(result: Result, look: TerminalCapabilities, *, description: str = "") -> Drawing:
    """Draw a started task (M-10). Without a frame if the lines are too long for it: a path must stay copyable."""
    result, description = mask_result(result), masked_description(result, description)
    task = result.task
    if task is None:
        raise ValueError("it is no task")
    id = escape_text(task.id)
    rows = [
        styled_line(("Task ID: ", "faint"), (id, "command")),
        styled_line(("Command: ", "faint"), command_line(result, look.width - 11).plain.removeprefix("$ ")),
        styled_line(("Output:  ", "faint"), escape_text(task.output_file)),
        styled_line(("Process: ", "faint"), str(task.pid), (f"  (kill -9 -{task.pgid} ends its group)", "faint")),
        styled_line(),
        styled_line(("Use ", "faint"), "nacre tasks", (" to check status", "faint")),
        styled_line(("Use ", "faint"), f"nacre output -f {id}", (" to get results", "faint")),
        styled_line(("Use ", "faint"), f"nacre kill {id}", (" to end it", "faint")),
    ]
    if description:
        rows.insert(0, styled_line((escape_text(description), "italic")))
    title = styled_line((_STARTED, "bold green not dim"))
    note_rows = notes(replace(result, task=None), viewport(result), look)
    inner = max(_MIN_BOX_COLUMNS, *(row.cell_len for row in rows))
    if inner + 4 > look.width:
        return [titled_rule(look, title), *rows, rule(look), *note_rows]
    body = Text("\n").join(rows)
    body.no_wrap = True
    border = box.ROUNDED if look.utf8 else box.ASCII
    framed = Panel(body, title=title, title_align="left", box=border, border_style=style("faint"), width=inner + 4)
    return [framed, *note_rows]
