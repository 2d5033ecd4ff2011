"""The table of tasks in colour: `nacre.views.console.task_table` with styles."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.result import Exited, Running
from nacre.tasks.store.task import Task
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.task_table import GAP, STATE, build_task_table
from nacre.views.panels.style import Drawing, rule, styled_line


def task_table(tasks: Sequence[Task], look: TerminalCapabilities) -> Drawing:
    found = build_task_table(tasks, look.width, utf8=look.utf8)
    lines: Drawing = [styled_line((GAP.join(found.head).rstrip(), "faint")), rule(look)]
    for task, cells in found.rows:
        before, state, after = cells[:STATE], cells[STATE], cells[STATE + 1 :]
        lines.append(
            styled_line(*(f"{cell}{GAP}" for cell in before), (state, _style(task)), GAP, GAP.join(after).rstrip())
        )
    return lines


def _style(task: Task) -> str:
    if isinstance(task.outcome, Running) or task.outcome == Exited(0):
        return "good" if task.alive else "faint"
    return "bad"
