"""What is not a command's output: a task that was started, a command that was not run, a stream that has ended."""

from __future__ import annotations

from rich import box
from rich.panel import Panel
from rich.text import Text

from nacre.frozen import replace
from nacre.result import Exited, Refused, Result
from nacre.views.continued import continued
from nacre.views.escape import escaped
from nacre.views.look import Look
from nacre.views.panels.paint import Drawing, rule, said, style, titled, wrapped
from nacre.views.panels.run import command_line, contents, duration, notes, status
from nacre.views.viewport import MOST, viewport

_STARTED = "Background Task Started"
_NARROWEST = 50


def background_box(result: Result, look: Look, *, description: str = "") -> Drawing:
    """A task has been started (M-10). Without sides where its lines are too long for them: a path is for copying."""
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


def refusal(result: Result, look: Look) -> Drawing:
    """A command that was not run, all of it, why, and what to do instead (M-10)."""
    outcome = result.outcome
    if not isinstance(outcome, Refused):
        raise ValueError("it was not refused")
    lines = continued(result.command, look.width - 2)
    name = escaped(outcome.rule)
    return [
        titled(look, said(("Command blocked", "bold red")), said(("not run", "bold red")), "bad"),
        *(said(("  " if number else "$ ", "faint"), (line, "command")) for number, line in enumerate(lines)),
        rule(look),
        *wrapped(outcome.reason, look, "Why:     "),
        *wrapped(outcome.instead, look, "Instead: "),
        said(("Rule:    ", "faint"), name, (f"  (nacre rules {name})", "faint")),
        rule(look, "bad"),
        *notes(replace(result, outcome=Exited(0)), viewport(result), look),  # the rest has been said
    ]


def streamed(result: Result, look: Look, *, description: str = "", most: int = MOST) -> Drawing:
    """What is left of the streaming view when the command has ended (M-10): rules, exit code, duration."""
    view = viewport(result, most=most)
    word, name = status(result.outcome)
    code = result.exit_code
    return [
        said(("Running: ", "faint"), (escaped(description), "command"))
        if description
        else command_line(result, look.width),
        rule(look),
        *contents(view),
        rule(look),
        said((word, name)) if code is None else said(("Exit code: ", "faint"), (str(code), name)),
        said(("Duration: ", "faint"), duration(result.duration)),
        *notes(result, view, look),
    ]
