"""Describes the state of a task, in a word or a sentence. Pure."""

from __future__ import annotations

from nacre.base.units import format_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.tasks.store.task import Task


def status_word(task: Task) -> str:
    """Return the state for a column of a table: up to a dozen characters."""
    if task.out_of_memory:
        return "out of memory"
    return "broken" if task.outcome is None else task.outcome.word


def status_sentence(task: Task) -> str:
    """Return the state as a sentence."""
    if task.alive:
        quiet = "" if task.idle is None or not task.bytes else f", its last output {format_duration(task.idle)} ago"
        return f"{task.id} has been running for {format_duration(task.duration)}{quiet}"
    if task.state == "broken":
        return f"{task.id} is broken: {task.problem}"
    memory = " (out of memory)" if task.out_of_memory else ""
    problem = f" ({task.problem})" if task.problem else ""
    return f"{task.id}: {task.summary}{memory} after {format_duration(task.duration)}{problem}"


def survivors(task: Task) -> str:
    """List the processes of an ended task that are still alive."""
    named = ", ".join(f"{process.pid} ({process.command[:60]})" for process in task.running[:_MAX_NAMED_PROCESSES])
    more = len(task.running) - _MAX_NAMED_PROCESSES
    return named + (f" and {more} more" if more > 0 else "")


_MAX_NAMED_PROCESSES = 5
