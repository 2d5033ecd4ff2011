"""The table of tasks without colour, for `nacre tasks` and `nacre tasks --watch`."""

from __future__ import annotations

import os

from nacre.cli.common.messages import takes_utf8
from nacre.views.console.task_table import build_task_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.tasks.store.task import Task


_DEFAULT_COLUMNS = 500
"""Columns if stdout has no width."""


def table(tasks: list[Task], width: int) -> list[str]:
    """Return the table's lines without colour, in ASCII if stdout is a terminal that is not UTF-8."""
    return build_task_table(tasks, width, utf8=takes_utf8(1)).lines


def width() -> int:
    """Return the columns of stdout."""
    try:
        return os.get_terminal_size(1).columns or _DEFAULT_COLUMNS
    except OSError:
        return _DEFAULT_COLUMNS


def no_tasks_text(directory: str, *, all: bool) -> str:
    return f"There are no tasks in {directory}." if all else "No task is running; `nacre tasks --all` lists the others."
