"""Tasks as a table, in colour: `nacre.views.listing`, painted."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.result import Exited, Running
from nacre.tasks.task import Task
from nacre.views.listing import GAP, STATE, listing
from nacre.views.look import Look
from nacre.views.panels.paint import Drawing, rule, said


def task_table(tasks: Sequence[Task], look: Look) -> Drawing:
    found = listing(tasks, look.width, utf8=look.utf8)
    lines: Drawing = [said((GAP.join(found.head).rstrip(), "faint")), rule(look)]
    for task, cells in found.rows:
        before, state, after = cells[:STATE], cells[STATE], cells[STATE + 1 :]
        lines.append(said(*(f"{cell}{GAP}" for cell in before), (state, _style(task)), GAP, GAP.join(after).rstrip()))
    return lines


def _style(task: Task) -> str:
    if isinstance(task.outcome, Running) or task.outcome == Exited(0):
        return "good" if task.alive else "faint"
    return "bad"
