"""Lays out tasks as a table of a given width, one row for each task. Pure.

On a narrow terminal, columns are dropped so that the command keeps a minimum width. A caller that draws the table in
colour changes nothing else.
"""

from __future__ import annotations

from nacre.ansi.width import columns
from nacre.base.frozen import frozen
from nacre.base.units import format_duration, format_size
from nacre.views.console.escape import cut, escape_command, escape_text, fit, to_ascii
from nacre.views.console.task_status import status_word, survivors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nacre.tasks.store.task import Task

STATE = 1
"""Index of the cell with the state."""
GAP = "  "
_NAMES = ("ID", "STATE", "TIME", "QUIET", "BYTES", "PID", "COMMAND")
_TO_THE_RIGHT = ("TIME", "QUIET", "BYTES", "PID")
_GIVEN_UP = ("PID", "BYTES", "QUIET", "TIME")
"""Columns to drop, in this order, if there is not enough room."""
_MIN_COMMAND_COLUMNS = 20
"""Least width of the command."""
_ID_COLUMNS = 13
"""Width of a task's id. An entry that is not a task may have a longer name."""
_MAX_COMMAND_COLUMNS = 500
"""Longest command; `_cells` cuts it at the end of the line."""


@frozen
class TaskTable:
    """Cells of a table, with its head."""

    head: tuple[str, ...]
    rows: tuple[tuple[Task, tuple[str, ...]], ...]
    """Each task with its cells, padded to the width of their columns. Broken tasks come last."""

    @property
    def lines(self) -> list[str]:
        """The table's lines, head first."""
        return [GAP.join(cells).rstrip() for cells in (self.head, *(cells for _, cells in self.rows))]


def build_task_table(tasks: Sequence[Task], width: int, *, utf8: bool = True) -> TaskTable:
    """Lay out `tasks` in at most `width` columns; in ASCII unless `utf8`."""
    tasks = sorted(tasks, key=lambda task: task.state == "broken")
    rows = [dict(zip(_NAMES, _NAMES, strict=True)), *(_row(task, width) for task in tasks)]
    if not utf8:
        rows = [{name: to_ascii(cell) for name, cell in row.items()} for row in rows]
    widths = {name: max(columns(row[name]) for row in rows) for name in _NAMES[:-1]}
    for name in _GIVEN_UP:
        if _used_columns(widths) + _MIN_COMMAND_COLUMNS <= width:
            break
        del widths[name]
    head, *cells = (_cells(row, widths, width, "…" if utf8 else "...") for row in rows)
    return TaskTable(head, tuple(zip(tasks, cells, strict=True)))


def _row(task: Task, width: int) -> dict[str, str]:
    broken = task.state == "broken"
    return {
        "ID": fit(task.id, max(_ID_COLUMNS, width // 3)),
        "STATE": status_word(task),
        "TIME": "-" if broken else format_duration(task.duration),
        "QUIET": "-" if task.idle is None else format_duration(task.idle),
        "BYTES": "-" if broken else format_size(task.bytes),
        "PID": "-" if task.pid is None else str(task.pid),
        "COMMAND": _command(task),
    }


def _command(task: Task) -> str:
    text = fit(escape_command(task.description[:_MAX_COMMAND_COLUMNS]), _MAX_COMMAND_COLUMNS) or _short_command(
        task.command, task.cwd
    )
    if task.running:
        return f"[still there: {escape_text(survivors(task))}] {text}"
    note = task.summary.partition("lost: ")[2] if task.state == "lost" else task.problem
    return f"[{escape_text(note)}] {text}".rstrip() if note else text


def _short_command(command: str, cwd: str) -> str:
    line = command.strip()
    if len(line) <= _MAX_COMMAND_COLUMNS and "\n" not in line and not line.startswith("cd"):
        return escape_command(line)  # the same as below, without loading the shell parser
    from nacre.views.console.short_command import shorten

    return shorten(command, cwd, most=_MAX_COMMAND_COLUMNS)


def _used_columns(widths: dict[str, int]) -> int:
    return sum(widths.values()) + len(GAP) * len(widths)


def _cells(row: dict[str, str], widths: dict[str, int], width: int, dots: str) -> tuple[str, ...]:
    cells, left = [], width
    for name, room in widths.items():
        room = max(min(room, left), 0)
        text = cut(row[name], room, dots)
        blank = " " * (room - columns(text))
        cells.append(blank + text if name in _TO_THE_RIGHT else text + blank)
        left -= room + len(GAP)
    return (*cells, cut(row["COMMAND"], max(left, 0), dots))
