"""Ids of a cluster's tasks: `bash-3f9c2a17@4f2a91c3` is the id on the node and the beginning of the node's id, so that
not every node need be queried. Pure."""

from __future__ import annotations

from nacre.base.frozen import replace
from nacre.engines.ray.node.payload import FinalMessage
from nacre.keeper.client.events import Promoted
from nacre.result import Outcome, Result, Running, TaskRef
from nacre.tasks.store.log_reader import Output
from nacre.tasks.store.task import Task
from nacre.tasks.wait import WaitResult

_SIGN = "@"
_DIGITS = 8


def qualify_task_id(task: str, node: str) -> str:
    """Return the cluster-wide id of a node's task."""
    return f"{task}{_SIGN}{node[:_DIGITS]}"


def split_task_id(name: str) -> tuple[str, str]:
    """Return a task's id, and the beginning of its node's id; empty if not given."""
    id, _, node = name.partition(_SIGN)
    return id, node


def qualify_final(final: FinalMessage, node: str) -> FinalMessage:
    """Return a node's final message with cluster-wide task ids. The following functions do so for other values."""
    if final.task is None:
        return final
    task, notes = _qualify_reference(final.task, node), _qualify_notes(final.notes, final.task, node)
    word = final.event._replace(task=task) if isinstance(final.event, Promoted) else final.event
    return replace(final, event=word, task=task, notes=notes)


def qualify_result(result: Result, node: str) -> Result:
    if result.task is None:
        return result
    task, notes = _qualify_reference(result.task, node), _qualify_notes(result.notes, result.task, node)
    return replace(result, task=task, outcome=_qualify_outcome(result.outcome, node), notes=notes)


def qualify_task(task: Task, node: str) -> Task:
    outcome = None if task.outcome is None else _qualify_outcome(task.outcome, node)
    return replace(task, id=qualify_task_id(task.id, node), outcome=outcome)


def qualify_output(output: Output, node: str) -> Output:
    return replace(output, task=qualify_task(output.task, node))


def qualify_wait_result(waited: WaitResult, node: str) -> WaitResult:
    return WaitResult(
        tasks=tuple(qualify_task(task, node) for task in waited.tasks),
        met=tuple(qualify_task_id(id, node) for id in waited.met),
        ended=tuple(qualify_task_id(id, node) for id in waited.ended),
        timed_out=waited.timed_out,
        match={qualify_task_id(id, node): line for id, line in waited.match.items()},
    )


def _qualify_outcome(outcome: Outcome, node: str) -> Outcome:
    return replace(outcome, task=qualify_task_id(outcome.task, node)) if isinstance(outcome, Running) else outcome


def _qualify_reference(task: TaskRef, node: str) -> TaskRef:
    return replace(task, id=qualify_task_id(task.id, node))


def _qualify_notes(notes: tuple[str, ...], task: TaskRef, node: str) -> tuple[str, ...]:
    """Qualify the first occurrence of the id in each note. A further one is in a file name, which stays."""
    return tuple(note.replace(task.id, qualify_task_id(task.id, node), 1) for note in notes)
