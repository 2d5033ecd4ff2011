"""Tasks as a table: those that run first seen, narrow terminals with fewer columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from nacre.result import Exited, Running
from nacre.tasks.task import Task
from nacre.views.amounts import short_size, short_span
from nacre.views.escape import columns, cut, escaped, printed
from nacre.views.look import Look
from nacre.views.panels.paint import Drawing, style
from nacre.views.simplify import display
from nacre.views.standing import survivors, word_on

_ALL = ("ID", "STATE", "TIME", "QUIET", "BYTES", "PID")
_GIVEN_UP = ("PID", "BYTES", "QUIET", "TIME")
_ENOUGH = 24
_WIDE = 500
"""Columns: here a command is cut where the line ends, as the others are."""


def task_table(tasks: Sequence[Task], look: Look) -> Drawing:
    tasks = sorted(tasks, key=lambda task: task.state == "broken")
    rows = [_row(task) for task in tasks]
    widths = {name: max([len(name), *(columns(row[name]) for row in rows)]) for name in _ALL}
    for name in _GIVEN_UP:
        if sum(widths.values()) + 2 * len(widths) + _ENOUGH <= look.width:
            break
        del widths[name]
    room = max(look.width - sum(widths.values()) - 2 * len(widths), 8)
    table = Table(
        box=box.SIMPLE_HEAD if look.utf8 else box.ASCII2,
        show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), border_style=style("faint"), header_style=style("faint"),
    )  # fmt: skip
    for name in widths:
        table.add_column(name, justify="right" if name in _ALL[2:] else "left", no_wrap=True)
    table.add_column("COMMAND", no_wrap=True)
    for task, row in zip(tasks, rows, strict=True):
        cells = [Text(printed(row[name]), style(_style(task)) if name == "STATE" else "") for name in widths]
        table.add_row(*cells, Text(_command(task, room)))
    return [table]


def _style(task: Task) -> str:
    if isinstance(task.outcome, Running) or task.outcome == Exited(0):
        return "good" if task.alive else "faint"
    return "bad"


def _row(task: Task) -> dict[str, str]:
    broken = task.state == "broken"
    return {
        "ID": cut(escaped(task.id), 24),
        "STATE": word_on(task),
        "TIME": "-" if broken else short_span(task.duration),
        "QUIET": "-" if task.idle is None else short_span(task.idle),
        "BYTES": "-" if broken else short_size(task.bytes),
        "PID": "-" if task.pid is None else str(task.pid),
    }


def _command(task: Task, room: int) -> str:
    text = escaped(task.description) or display(task.command, task.cwd, most=_WIDE)
    if task.running:
        text = f"[still there: {escaped(survivors(task))}] {text}"
    elif note := (task.summary.partition("lost: ")[2] if task.state == "lost" else task.problem):
        text = f"[{escaped(note)}] {text}"
    return cut(text, room)
