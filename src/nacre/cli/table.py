"""Tasks and a width in, lines out: one for each task, none longer than that. Pure.

Of a narrow terminal the command gets its share first: then there are fewer columns.
"""

from __future__ import annotations

from nacre.views.amounts import short_size, short_span
from nacre.views.escape import columns, fit
from nacre.views.standing import survivors, word_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.tasks.task import Task

_NAMES = ("ID", "STATE", "TIME", "QUIET", "BYTES", "PID", "COMMAND")
_TO_THE_RIGHT = ("TIME", "QUIET", "BYTES", "PID")
_GIVEN_UP = ("PID", "BYTES", "QUIET", "TIME")
"""In this order, where there is no room for them."""
_ENOUGH = 20
"""Columns for the command."""
_GAP = "  "
_ID = 13
"""Columns. What is no task may have a longer name."""


def table(tasks: list[Task], width: int) -> list[str]:
    tasks = sorted(tasks, key=lambda task: task.state == "broken")
    rows = [dict(zip(_NAMES, _NAMES, strict=True)), *(_row(task, width) for task in tasks)]
    widths = {name: max(columns(row[name]) for row in rows) for name in _NAMES[:-1]}
    for name in _GIVEN_UP:
        if _taken(widths) + _ENOUGH <= width:
            break
        del widths[name]
    return [_line(row, widths, width) for row in rows]


def _row(task: Task, width: int) -> dict[str, str]:
    broken = task.state == "broken"
    return {
        "ID": fit(task.id, max(_ID, width // 3)),
        "STATE": word_on(task),
        "TIME": "-" if broken else short_span(task.duration),
        "QUIET": "-" if task.idle is None else short_span(task.idle),
        "BYTES": "-" if broken else short_size(task.bytes),
        "PID": "-" if task.pid is None else str(task.pid),
        "COMMAND": _command(task, width),
    }


def _command(task: Task, width: int) -> str:
    text = (task.description or task.command)[: width * 3]
    if task.running:
        return f"[still there: {survivors(task)}] {text}"
    note = task.summary.partition("lost: ")[2] if task.state == "lost" else task.problem
    return f"[{note}] {text}".rstrip() if note else text


def _taken(widths: dict[str, int]) -> int:
    return sum(widths.values()) + len(_GAP) * len(widths)


def _line(row: dict[str, str], widths: dict[str, int], width: int) -> str:
    cells = []
    for name, room in widths.items():
        blank = " " * (room - columns(row[name]))
        cells.append(blank + row[name] if name in _TO_THE_RIGHT else row[name] + blank)
    command = fit(row["COMMAND"], max(width - _taken(widths), 1))
    return fit(_GAP.join((*cells, command)), width).rstrip()
